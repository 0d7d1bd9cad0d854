package wire_test

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"ulnet/lnd/capture"
	"ulnet/lnd/capture/capturetest"
	"ulnet/lnd/lndtest/spec"
	"ulnet/lnet/selftest/wire"
	lnetwire "ulnet/lnet/wire"
)

// captureDirs have captures of kernel nodes, with the counts of another parser: two directories of the
// repository, and two with all captures, which may exist beside the repository.
var captureDirs = []string{
	"../../../lnd/capture/testdata", "../../../lnd/capture/testdata/captures2",
	"../../../../shared/captures", "../../../../shared/captures2",
}

// counts are the counts of selftest in one capture, as expected.json has them.
type counts struct {
	Messages map[string]int `json:"rpc_messages"`
	Status   map[string]int `json:"reply_status"`
	Sessions []string       `json:"sessions"`
	Total    int            `json:"total"`
}

// names are the names of types in expected.json.
var names = [...]string{"MKSN", "RMSN", "BATCH", "STAT", "TEST", "DEBUG", "BRW", "PING", "JOIN"}

// TestCaptured: all messages of kernel nodes are parsed, encoded again to the same bytes, and
// counted as another parser counts them.
func TestCaptured(t *testing.T) {
	spec.Covers(t, "ST-1")
	total := 0
	for _, dir := range captureDirs {
		expected := readExpected(t, dir)
		for _, name := range slices.Sorted(maps.Keys(expected)) {
			want := expected[name]
			if want.Total == 0 {
				continue
			}
			got := counts{Messages: map[string]int{}, Status: map[string]int{}, Sessions: []string{}}
			eachMessage(t, filepath.Join(dir, name), func(m *wire.Message, raw []byte) { got.add(t, m, raw) })
			slices.Sort(got.Sessions)
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("%s (-want +got):\n%s", name, diff)
			}
			total += got.Total
		}
	}
	if total < 700 {
		t.Errorf("%d messages", total)
	}
}

func (n *counts) add(t *testing.T, m *wire.Message, raw []byte) {
	if again, err := m.AppendBinary(nil); err != nil || !bytes.Equal(again, raw) {
		t.Errorf("%v is encoded again as\n% x, %v, not as\n% x", m.Type, again, err, raw)
	}
	if p, ok := m.Body.(*wire.Ping); ok && p.Magic != wire.PingMagic || m.Features&^wire.KnownFeatures != 0 {
		t.Errorf("%+v", m)
	}
	if b, ok := m.Body.(*wire.Test); ok && b.Ping != (wire.PingParams{}) {
		t.Errorf("%+v", b)
	}
	n.Total++
	if m.Type.IsReply() {
		n.Messages[names[m.Type/2]+"_REPLY"]++
		n.Status[strconv.Itoa(int(m.Status))]++
		return
	}
	n.Messages[names[m.Type/2]+"_REQST"]++
	if s, ok := m.Body.(*wire.MakeSession); ok && !slices.Contains(n.Sessions, s.Session.String()) {
		n.Sessions = append(n.Sessions, s.Session.String())
	}
}

// eachMessage calls f for each message of selftest in a capture, whether its payload goes by
// TCP, or by RDMA as an immediate message.
func eachMessage(t testing.TB, file string, f func(m *wire.Message, raw []byte)) {
	t.Helper()
	if _, err := os.Stat(file); err != nil {
		file += ".gz"
	}
	capturetest.Decode(t, file, func(r *capture.Record) {
		portal, _ := r.Portal()
		if r.Kind != capture.Message || r.Header.Type != lnetwire.Put || len(r.Payload) != wire.MessageSize ||
			portal < wire.TestPortal || portal > wire.BulkPortal {
			return
		}
		m, err := wire.ParseMessage(r.Payload)
		if err != nil {
			t.Errorf("%s, frame %d: %v", file, r.Frame, err)
			return
		}
		bits := r.Header.Put().MatchBits
		if want, ok := wire.Service(bits).Request(); portal != wire.BulkPortal && (!ok || want != m.Type || wire.Service(bits).Portal() != portal) {
			t.Errorf("%s, frame %d: %v of portal %d is a %v", file, r.Frame, wire.Service(bits), portal, m.Type)
		}
		f(&m, r.Payload)
	})
}

// readExpected returns the counts of all captures in a directory, none if it does not exist.
func readExpected(t *testing.T, dir string) map[string]counts {
	t.Helper()
	name := filepath.Join(dir, "expected.json")
	if _, err := os.Stat(name); err != nil {
		name += ".gz"
	}
	f, err := os.Open(name)
	if os.IsNotExist(err) && strings.Contains(dir, "shared") {
		return nil
	}
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	r := io.Reader(f)
	if strings.HasSuffix(name, ".gz") {
		if r, err = gzip.NewReader(f); err != nil {
			t.Fatal(err)
		}
	}
	var doc struct {
		Files map[string]struct {
			LST counts `json:"lst"`
		}
	}
	if err := json.NewDecoder(r).Decode(&doc); err != nil {
		t.Fatal(err)
	}
	list := map[string]counts{}
	for name, file := range doc.Files {
		slices.Sort(file.LST.Sessions)
		list[name] = file.LST
	}
	return list
}
