package analyze

import (
	"cmp"
	"compress/gzip"
	"encoding/binary"
	"encoding/json"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	diff "github.com/google/go-cmp/cmp"

	"ulnet/lnd/capture"
	"ulnet/lnd/capture/capturetest"
	"ulnet/lnd/lndtest/spec"
	"ulnet/lnet/nid"
	"ulnet/lnet/wire"
)

// captureDirs are the directories with captures of kernel nodes: those in the repository, and the
// complete sets, if these are beside the repository.
var captureDirs = []string{"../testdata", "../testdata/captures2", "../../../../shared/captures", "../../../../shared/captures2"}

// selftest pairs the messages of lnet_selftest, whose bytes it reads itself (selftest §3): a request has
// the number in its payload, and the reply has the number as its match bits.
var selftest = Service{
	Name: "selftest",
	Request: func(put wire.PutCmd, payload []byte) (uint64, bool) {
		if put.Portal != 50 && put.Portal != 51 || !isSelftest(payload) {
			return 0, false
		}
		return binary.LittleEndian.Uint64(payload[24:]), true
	},
	Reply: func(put wire.PutCmd, payload []byte) (uint64, bool) {
		return put.MatchBits, put.Portal == 52 && isSelftest(payload)
	},
}

func isSelftest(b []byte) bool {
	return len(b) == 160 && binary.LittleEndian.Uint32(b) == 0xeeb0f00d
}

// eachCapture calls f for every capture whose name begins with prefix.
func eachCapture(t *testing.T, prefix string, f func(t *testing.T, file string, want map[string]any)) {
	seen := 0
	for _, dir := range captureDirs {
		files, err := filepath.Glob(filepath.Join(dir, prefix+"*.pcap*"))
		if err != nil {
			t.Fatal(err)
		}
		if len(files) == 0 {
			continue
		}
		expected := readExpected(t, dir)
		for _, file := range files {
			seen++
			t.Run(strings.TrimPrefix(file, "../"), func(t *testing.T) {
				f(t, file, expected[strings.TrimSuffix(filepath.Base(file), ".gz")])
			})
		}
	}
	if seen < 3 {
		t.Errorf("%d captures", seen)
	}
}

func readExpected(t *testing.T, dir string) map[string]map[string]any {
	t.Helper()
	var in io.Reader
	f, err := os.Open(filepath.Join(dir, "expected.json"))
	if in = f; err != nil {
		if f, err = os.Open(filepath.Join(dir, "expected.json.gz")); err != nil {
			t.Fatal(err)
		}
		if in, err = gzip.NewReader(f); err != nil {
			t.Fatal(err)
		}
	}
	defer f.Close()
	var doc struct{ Files map[string]map[string]any }
	if err := json.NewDecoder(in).Decode(&doc); err != nil {
		t.Fatal(err)
	}
	return doc.Files
}

// number returns the number at a path of keys in expected.json, or 0 if there is none.
func number(m map[string]any, path ...string) uint64 {
	for _, name := range path[:len(path)-1] {
		m, _ = m[name].(map[string]any)
	}
	n, _ := m[path[len(path)-1]].(float64)
	return uint64(n)
}

func analyzed(t *testing.T, file string) *Report {
	a := New(Config{Services: []Service{selftest, Ptlrpc()}, Listed: 1000})
	capturetest.Decode(t, file, a.Record)
	return a.Report(time.Time{})
}

// sum returns the sum of all rows of the report about operations of one kind.
func (r *Report) sum(k Kind) (c Counts) {
	for _, row := range r.Kinds {
		if row.Kind == k {
			c.Asked += row.Asked
			c.Answered += row.Answered
			c.Failed += row.Failed
			c.Unanswered += row.Unanswered
			c.Resent += row.Resent
			c.Copies += row.Copies
			c.Repeated += row.Repeated
			c.Forwarded += row.Forwarded
		}
	}
	return c
}

// TestCapturedCounts: operations, connections, cookies and keepalives of kernel nodes are as many as
// another parser has counted.
func TestCapturedCounts(t *testing.T) {
	spec.Covers(t, "DG-1", "DG-5", "DG-7")
	eachCapture(t, "tcp", func(t *testing.T, file string, want map[string]any) {
		r := analyzed(t, file)
		puts, gets, requests := r.sum(PutAck), r.sum(GetReply), r.sum(RequestReply)
		got := map[string]uint64{
			"ACK": puts.Answered + puts.Repeated + r.Unmatched.Acks, "REPLY": gets.Answered + gets.Repeated + r.Unmatched.Replies,
			"GET": gets.Asked + gets.Copies + gets.Resent, "requests": requests.Asked + requests.Resent,
			"replies": requests.Answered + requests.Repeated, "messages": r.Messages,
		}
		count := map[string]uint64{
			"ACK": number(want, "lnet_messages", "ACK"), "REPLY": number(want, "lnet_messages", "REPLY"),
			"GET": number(want, "lnet_messages", "GET"),
		}
		for _, typ := range []string{"ACK", "PUT", "GET", "REPLY"} {
			count["messages"] += number(want, "lnet_messages", typ)
		}
		countRPCs(want, count)
		if twice := puts.Forwarded + gets.Forwarded + requests.Forwarded; twice > 0 {
			if !strings.HasPrefix(filepath.Base(file), "tcp6-route") { // only this capture has messages twice, because it has both sides of a router
				t.Errorf("%d messages forwarded", twice)
			}
			for _, typ := range []string{"ACK", "GET", "REPLY"} {
				delete(got, typ)
				delete(count, typ)
			}
		}
		compareLinks(r, want, got, count)
		if d := diff.Diff(count, got); d != "" {
			t.Errorf("(-want +got)\n%s", d)
		}
		if r.Unmatched != (Unmatched{}) || r.Forgotten != (Forgotten{}) {
			t.Errorf("unmatched %+v, forgotten %+v", r.Unmatched, r.Forgotten)
		}
	})
}

// countRPCs adds the numbers of requests and replies of lnet_selftest in expected.json to the entries
// of count.
func countRPCs(want map[string]any, count map[string]uint64) {
	rpcs, _ := object(want["lst"])["rpc_messages"].(map[string]any)
	for name := range rpcs {
		if strings.HasSuffix(name, "_REQST") {
			count["requests"] += number(rpcs, name)
		} else {
			count["replies"] += number(rpcs, name)
		}
	}
}

func object(v any) map[string]any {
	m, _ := v.(map[string]any)
	return m
}

// compareLinks puts numbers about connections into two maps that must then be equal: those in the
// report into got, and those in expected.json into count.
func compareLinks(r *Report, want map[string]any, got, count map[string]uint64) {
	for _, l := range r.Links {
		got["established"] += l.Connections
		got["refused"] += l.Refused
		got["failed"] += l.Failed
		for _, s := range l.Sides {
			got["cookies"] += s.ZeroCopy.Requests
			got["cookies back"] += s.ZeroCopy.Acked
			got["keepalives"] += s.Keepalives
		}
	}
	outcomes, known := object(want["connections"])["outcomes"].(map[string]any)
	if !known {
		delete(got, "established")
		delete(got, "refused")
		delete(got, "failed")
	} else {
		count["established"] = number(outcomes, "established")
		count["refused"] = number(outcomes, "refused") + number(outcomes, "request_refused")
		count["failed"] = number(outcomes, "closed") + number(outcomes, "tcp_failed")
	}
	count["keepalives"] = number(want, "ksock", "noop_keepalive")
	count["cookies"] = number(want, "zero_copy", "requests")
	count["cookies back"] = count["cookies"] // as many must come back as were sent
	for k := range count {
		got[k] += 0
	}
	for k := range got {
		count[k] += 0
	}
}

// TestCapturedRDMA: over o2iblnd, operations of kernel nodes, and the credits that they gave back, are as
// many as another parser has counted.
func TestCapturedRDMA(t *testing.T) {
	spec.Covers(t, "DG-1", "DG-7")
	eachCapture(t, "o2ib", func(t *testing.T, file string, want map[string]any) {
		r := analyzed(t, file)
		var credits uint64
		for _, l := range r.Links {
			credits += l.Sides[0].CreditsReturned + l.Sides[1].CreditsReturned
		}
		gets, requests := r.sum(GetReply), r.sum(RequestReply)
		got := map[string]uint64{"GET": gets.Asked, "REPLY": gets.Answered, "credits": credits, "requests": requests.Asked, "replies": requests.Answered}
		count := map[string]uint64{
			"GET": number(want, "lnet_messages", "GET"), "REPLY": number(want, "lnet_messages", "REPLY") + number(want, "lst", "bulk_reply"),
			"credits": number(want, "kib_credits_returned"),
		}
		countRPCs(want, count)
		count["requests"] += 0
		count["replies"] += 0
		if d := diff.Diff(count, got); d != "" {
			t.Errorf("(-want +got)\n%s", d)
		}
	})
}

// message is an LNet message of a capture, for the simple search with which the report is compared.
type message struct {
	at     time.Time
	frame  uint64
	conn   *capture.Conn
	from   capture.Side
	header wire.Header
	number uint64 // number of a request of selftest; a reply has that of its request
	ask    bool   // the message is a request
}

// meets reports whether n is the NID of one of the two ends of the connection on which m was captured.
func (m *message) meets(n nid.NID) bool { return m.conn.NIDs[0] == n || m.conn.NIDs[1] == n }

// found is an operation that the simple search has found.
type found struct {
	Kind               Kind
	Frame, AnswerFrame uint64
	Latency            time.Duration
}

// TestCapturedLatencies: every operation of the captures has its answer and its latency, as a search
// through all later messages finds them.
func TestCapturedLatencies(t *testing.T) {
	spec.Covers(t, "DG-1")
	eachCapture(t, "tcp", func(t *testing.T, file string, _ map[string]any) {
		r := analyzed(t, file)
		var got []found
		for _, o := range slices.Concat(r.Slowest, r.Unanswered) {
			if o.AnswerFrame == 0 {
				o.Latency = 0
			}
			got = append(got, found{o.Kind, o.Frame, o.AnswerFrame, o.Latency})
		}
		want := search(readMessages(t, file))
		order := func(a, b found) int {
			return cmp.Or(cmp.Compare(a.Frame, b.Frame), cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.AnswerFrame, b.AnswerFrame))
		}
		slices.SortFunc(got, order)
		slices.SortFunc(want, order)
		if d := diff.Diff(want, got); d != "" {
			t.Errorf("(-search +report)\n%s", d)
		}
		comparePercentiles(t, r, want)
	})
}

func readMessages(t *testing.T, file string) (list []message) {
	capturetest.Decode(t, file, func(r *capture.Record) {
		if r.Kind != capture.Message {
			return
		}
		m := message{at: r.Time, frame: r.Frame, conn: r.Conn, from: r.From, header: r.Header}
		if r.Header.Type == wire.Put {
			put := r.Header.Put()
			if m.number, m.ask = selftest.Request(put, r.Payload); !m.ask {
				m.number, _ = selftest.Reply(put, r.Payload)
			}
			if !isSelftest(r.Payload) {
				m.number = 0
			}
		}
		list = append(list, m)
	})
	return list
}

// search finds all operations: each message that asks, unless the same was seen before, with the
// first later message that answers it and was seen on the same side of a router.
func search(all []message) (list []found) {
	for i := range all {
		for k := range kinds {
			if !all[i].asks(k) || slices.ContainsFunc(all[:i], func(m message) bool { return m.asks(k) && all[i].repeats(&m, k) }) {
				continue
			}
			f := found{Kind: k, Frame: all[i].frame}
			for j := range all[i+1:] {
				if m := &all[i+1+j]; m.answers(&all[i], k) {
					f.AnswerFrame, f.Latency = m.frame, m.at.Sub(all[i].at)
					break
				}
			}
			list = append(list, f)
		}
	}
	return list
}

func (m *message) asks(k Kind) bool {
	switch k {
	case PutAck:
		return m.header.Type == wire.Put && !m.header.Put().AckMD.IsNone()
	case GetReply:
		return m.header.Type == wire.Get
	}
	return m.ask
}

// repeats reports whether m repeats the message n.
func (m *message) repeats(n *message, k Kind) bool {
	if k == RequestReply {
		return m.number == n.number && m.header.SrcNID == n.header.SrcNID
	}
	return m.header.Body == n.header.Body
}

func (m *message) answers(ask *message, k Kind) bool {
	if near := ask.meets(ask.header.SrcNID); near != m.meets(m.header.DestNID) {
		return false
	}
	switch k {
	case PutAck:
		return m.header.Type == wire.Ack && m.header.Ack().DstMD == ask.header.Put().AckMD
	case GetReply:
		return m.header.Type == wire.Reply && m.header.Reply().DstMD == ask.header.Get().ReturnMD
	}
	return m.number == ask.number && !m.ask && m.number != 0 && m.header.DestNID == ask.header.SrcNID
}

// comparePercentiles compares the rows of kinds with all latencies of the search.
func comparePercentiles(t *testing.T, r *Report, want []found) {
	t.Helper()
	rows := map[Kind]histogram{}
	exact := map[Kind][]time.Duration{}
	for _, f := range want {
		if f.AnswerFrame == 0 {
			continue
		}
		h := rows[f.Kind]
		h.add(f.Latency)
		rows[f.Kind], exact[f.Kind] = h, append(exact[f.Kind], f.Latency)
	}
	for _, k := range slices.Sorted(maps.Keys(exact)) {
		slices.Sort(exact[k])
		var n uint64
		for _, row := range r.Kinds {
			if row.Kind != k || row.Answered == 0 {
				continue
			}
			n += row.Answered
			if row.Latency.Min < exact[k][0] || row.Latency.Max > exact[k][len(exact[k])-1] {
				t.Errorf("%v: %+v, of %v", k, row.Latency, exact[k])
			}
		}
		if n != uint64(len(exact[k])) {
			t.Errorf("%v: %d latencies, want %d", k, n, len(exact[k]))
		}
	}
}
