package replay

import (
	"bytes"
	"compress/gzip"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"ulnet/lnd/capture"
	"ulnet/lnet/nid"
	"ulnet/lnet/wire"
)

// step is a recorded message or HELLO.
type step struct {
	at    time.Duration // time since the first step of the recording
	kind  capture.Kind
	from  nid.ProcessID // processes at the ends of the connection, as the HELLOs name them
	to    nid.NID
	stamp uint64 // incarnation of the sender
	head  wire.Header
	data  []byte
}

// folder is the directory of the recordings.
const folder = "../../../lnd/capture/testdata/captures2"

// load reads recordings of the same event on several sides, in the order of time.
func load(t *testing.T, names ...string) (steps []step) {
	t.Helper()
	var begin time.Time
	var list []*capture.Record
	hellos := make(map[*capture.Conn][2]*capture.Record)
	for _, name := range names {
		packets(t, name, func(r *capture.Record) {
			if begin.IsZero() || r.Time.Before(begin) {
				begin = r.Time
			}
			r = r.Clone()
			if r.Kind == capture.Hello {
				both := hellos[r.Conn]
				both[r.From] = r
				hellos[r.Conn] = both
			}
			list = append(list, r)
		})
	}
	slices.SortStableFunc(list, func(a, b *capture.Record) int { return a.Time.Compare(b.Time) })
	for _, r := range list {
		ends := hellos[r.Conn]
		if r.Kind != capture.Message && r.Kind != capture.Hello || ends[r.From] == nil {
			continue
		}
		hello := ends[r.From].Hello
		steps = append(steps, step{
			at: r.Time.Sub(begin), kind: r.Kind, from: nid.ProcessID{NID: hello.SrcNID, PID: hello.SrcPID}, to: hello.DstNID,
			stamp: hello.SrcIncarnation, head: r.Header, data: r.Payload,
		})
	}
	return steps
}

// packets decodes the capture with the given name.
func packets(t *testing.T, name string, emit func(*capture.Record)) {
	t.Helper()
	f, err := os.Open(filepath.Join(folder, name+".pcap.gz"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	b, err := io.ReadAll(z)
	if err != nil {
		t.Fatal(err)
	}
	r, err := capture.NewReader(bytes.NewReader(b))
	if err != nil {
		t.Fatal(err)
	}
	d := capture.NewDissector(capture.Options{KeepPayload: 1 << 20}, emit)
	for {
		p, err := r.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		d.Packet(p.Time, p.Link, p.Data)
	}
	d.Close()
}

// handle returns the handle of a message that awaits an answer, or of an answer.
func handle(h *wire.Header) wire.MDHandle {
	switch h.Type {
	case wire.Put:
		return h.Put().AckMD
	case wire.Get:
		return h.Get().ReturnMD
	case wire.Ack:
		return h.Ack().DstMD
	}
	return h.Reply().DstMD
}

// setHandle replaces the handle in an answer by the handle given as to.
func setHandle(h *wire.Header, to wire.MDHandle) {
	if h.Type == wire.Ack {
		a := h.Ack()
		a.DstMD = to
		h.SetAck(a)
		return
	}
	r := h.Reply()
	r.DstMD = to
	h.SetReply(r)
}
