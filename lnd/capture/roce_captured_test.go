package capture_test

import (
	"bytes"
	"errors"
	"fmt"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"ulnet/lnd/capture"
	"ulnet/lnd/o2iblnd/kib"
	"ulnet/lnd/verbs/ibta"
	"ulnet/lnet/wire"
)

// TestRoCECaptured decodes captures of kernel nodes over RoCE. It compares all counts with
// those of another parser, and the bytes of kernels' messages with those to which the
// messages are encoded again.
func TestRoCECaptured(t *testing.T) {
	for _, dir := range captureDirs {
		if strings.HasSuffix(dir.path, "captures2") {
			continue // this capture holds TCP alone
		}
		t.Run(dir.name, func(t *testing.T) {
			files, err := filepath.Glob(filepath.Join(dir.path, "o2ib-*.pcap"))
			if err != nil || len(files) == 0 {
				t.Skipf("no captures in %s", dir.path)
			}
			expected := readExpectedOf(t, filepath.Join(dir.path, "expected.json"), "o2ib")
			for _, file := range files {
				want := expected[filepath.Base(file)]
				if want == nil {
					t.Fatalf("%s is not in expected.json", file)
				}
				t.Run(filepath.Base(file), func(t *testing.T) { compareRoCE(t, file, want) })
			}
		})
	}
}

func compareRoCE(t *testing.T, file string, want object) {
	s := newRoceSummary()
	frames, ours := decodeFile(t, file, func(r *capture.Record) {
		s.add(r)
		kernel := r.Src().Addr().String() != "10.88.0.1"
		again, err := r.AppendBinary(nil)
		rest, same := bytes.CutPrefix(r.Raw, again)
		if kernel && (err != nil || !same || len(rest) > 0) {
			t.Errorf("frame %d: %s encoded again (%v)\n got %x\nwant %x", r.Frame, r.Type(), err, again, r.Raw)
		}
		if r.Kind == capture.Lost || r.Kind == capture.Unknown || kernel && r.Err != nil && r.Kind != capture.Closed {
			t.Errorf("frame %d: kind %d, %v", r.Frame, r.Kind, r.Err)
		}
	})
	delete(want, "lst") // this package does not dissect LST, a protocol above LNet
	if diff := cmp.Diff(want, s.json(frames, ours)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// roceSummary counts the records of one capture in the shape of expected.json.
type roceSummary struct {
	packets, bad, ackReq, credits      int
	opcodes, syndromes, cm, reasons    map[string]int
	whys, kib, lnet, portals           map[string]int
	sources, destinations              map[string]bool
	immediate, writes, writePackets    int
	writeBytes, pings, replies, pushes int
	pingGets                           map[wire.MDHandle]bool
}

func newRoceSummary() *roceSummary {
	return &roceSummary{
		opcodes: map[string]int{}, syndromes: map[string]int{}, cm: map[string]int{}, reasons: map[string]int{},
		whys: map[string]int{}, kib: map[string]int{}, portals: map[string]int{},
		lnet:    map[string]int{"ACK": 0, "PUT": 0, "GET": 0, "REPLY": 0, "HELLO": 0},
		sources: map[string]bool{}, destinations: map[string]bool{}, pingGets: map[wire.MDHandle]bool{},
	}
}

func (s *roceSummary) add(r *capture.Record) {
	switch r.Kind {
	case capture.RocePacket:
		s.packet(r)
	case capture.CMMessage:
		s.cmMessage(r)
	case capture.Exchange:
		s.kib[r.Type()]++
		s.credits += int(r.RoCE.Msg.Credits)
	case capture.Message:
		s.kib[r.RoCE.Msg.Type.String()]++
		s.credits += int(r.RoCE.Msg.Credits)
		s.message(r)
	}
}

func (s *roceSummary) packet(r *capture.Record) {
	s.packets++
	if errors.Is(r.Err, capture.ErrICRC) {
		s.bad++
	}
	p := &r.RoCE.Packet
	name := strings.ReplaceAll(p.OpCode.String(), " ", "_")
	if p.OpCode == ibta.Acknowledge {
		name = "ACK"
		s.syndromes[fmt.Sprintf("%#x", uint8(p.AETH.Syndrome))]++
	}
	s.opcodes[name]++
	if p.AckReq {
		s.ackReq++
	}
	if p.OpCode.IsWrite() {
		s.writePackets++
		s.writeBytes += len(p.Payload)
		if p.OpCode.IsFirst() {
			s.writes++
		}
	}
}

func (s *roceSummary) cmMessage(r *capture.Record) {
	c := &r.RoCE.CM
	s.cm[c.MAD.Attribute.String()]++
	switch c.MAD.Attribute {
	case ibta.AttrREQ:
		s.kib["CONNREQ"]++ // counts a CONNREQ even if it cannot be parsed because its version is unknown
	case ibta.AttrREP:
		s.kib[r.RoCE.Msg.Type.String()]++
	case ibta.AttrREJ:
		s.reasons[strconv.Itoa(int(c.REJ.Reason))]++
		if r.RoCE.HasReject {
			s.whys[strconv.Itoa(int(r.RoCE.Reject.Why))]++
		}
	}
}

func (s *roceSummary) message(r *capture.Record) {
	h := &r.Header
	s.lnet[h.Type.String()]++
	s.sources[h.SrcNID.String()], s.destinations[h.DestNID.String()] = true, true
	s.immediate += len(r.Payload)
	portal, request := r.Portal()
	if request {
		s.portals[strconv.Itoa(int(portal))]++
	}
	switch {
	case h.Type == wire.Get && portal == wire.PingPortal:
		s.pings++
		s.pingGets[h.Get().ReturnMD] = true
	case h.Type == wire.Reply && s.pingGets[h.Reply().DstMD]:
		s.replies++
	case h.Type == wire.Put && portal == wire.PingPortal:
		s.pushes++
	}
}

func (s *roceSummary) json(frames, ours int) object {
	return roundTrip(object{
		"transport": "o2ib", "frames": frames, "roce_packets": ours, "other_frames": frames - ours,
		"icrc":        object{"ok": s.packets - s.bad, "bad": s.bad},
		"bth_opcodes": s.opcodes, "ack_requested": s.ackReq, "ack_syndromes": s.syndromes,
		"cm": s.cm, "cm_reject_reasons": s.reasons, "o2ib_reject_why": s.whys,
		"kib_messages": s.kib, "kib_credits_returned": s.credits,
		"lnet_messages": s.lnet, "lnet_payload_bytes_immediate": s.immediate, "portals": s.portals,
		"nids":        object{"source": sorted(s.sources), "destination": sorted(s.destinations)},
		"rdma_writes": object{"messages": s.writes, "packets": s.writePackets, "bytes": s.writeBytes}, "rdma_reads": 0,
		"ping": object{"get": s.pings, "reply": s.replies, "push": s.pushes},
	})
}

// TestRoCEBulkCaptured: the message that a DONE stands for (Record.Moved) has as its payload the
// bytes of the RDMA WRITE packets before the DONE, all of them.
func TestRoCEBulkCaptured(t *testing.T) {
	const file = "../../../shared/captures/o2ib-rxe-lst-brw-1M-write-64K-read.pcap"
	if list, _ := filepath.Glob(file); len(list) == 0 {
		t.Skip("the capture is not beside the repository")
	}
	var written []byte
	var moved []string
	decodeFile(t, file, func(r *capture.Record) {
		if r.Kind == capture.RocePacket && r.RoCE.Packet.OpCode.IsWrite() {
			written = append(written, r.RoCE.Packet.Payload...)
		}
		if r.Kind == capture.Message && r.ByRDMA() != (r.RoCE.Msg.Type == kib.PutReq || r.RoCE.Msg.Type == kib.GetReq) {
			t.Errorf("frame %d: by RDMA %v", r.Frame, r.ByRDMA())
		}
		m, ok := r.Moved()
		if !ok {
			return
		}
		whole := bytes.Equal(m.Payload, written) && m.Missing == 0
		moved = append(moved, fmt.Sprintf("%s: %s of %d bytes from %v to %v by %d WRITE, whole %v",
			r.Type(), m.Type(), m.Header.PayloadLength, m.Header.SrcNID, m.Header.DestNID, r.RoCE.Transfer.Writes, whole))
		written = nil
	})
	want := []string{
		"GET_DONE: REPLY of 1048576 bytes from 10.88.0.2@o2ib to 10.88.0.3@o2ib by 1 WRITE, whole true",
		"PUT_DONE: PUT of 65536 bytes from 10.88.0.3@o2ib to 10.88.0.2@o2ib by 1 WRITE, whole true",
	}
	if diff := cmp.Diff(want, moved); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}
