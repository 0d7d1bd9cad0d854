package capturetest

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"ulnet/lnd/capture"
)

// AgreeOnRoCE fails the test unless tshark and this project find the same messages of
// the connection manager and of o2iblnd in a capture of RoCEv2 that has whole
// connections, and at least one of each. Messages must fit a packet, because tshark
// does not put them together. It skips the test as AgreeWithTshark does.
func AgreeOnRoCE(t testing.TB, file string) {
	t.Helper()
	theirs := roceOfTshark(t, file)
	manager, messages := 0, 0
	var ours []string
	Decode(t, file, func(r *capture.Record) {
		if line := roceLine(r); line != "" {
			ours = append(ours, line)
			if r.Kind == capture.CMMessage {
				manager++
			} else {
				messages++
			}
		}
	})
	if manager == 0 || messages == 0 {
		t.Errorf("%s holds %d messages of the connection manager, %d of o2iblnd", file, manager, messages)
	}
	if diff := cmp.Diff(theirs, ours); diff != "" {
		t.Errorf("%s (-tshark +ours):\n%s", file, diff)
	}
}

// roceLine describes a message of the connection manager or of o2iblnd in one line, in the form of
// roceOfTshark. It returns "" for other records.
func roceLine(r *capture.Record) string {
	switch r.Kind {
	case capture.CMMessage:
		return fmt.Sprintf("%d CM %#04x", r.Frame, uint16(r.RoCE.CM.MAD.Attribute))
	case capture.Exchange, capture.Message:
		m := &r.RoCE.Msg
		line := fmt.Sprintf("%d %#x credits %d nob %d %v %v", r.Frame, uint8(m.Type), m.Credits, m.Nob, m.SrcNID.Addr(), m.DstNID.Addr())
		if r.Kind == capture.Message {
			line += fmt.Sprintf(" LNet %d of %d bytes", uint32(r.Header.Type), r.Header.PayloadLength)
		}
		return line
	}
	return ""
}

var roceFields = []string{
	"frame.number", "infiniband.mad.attributeid", "infiniband.bth.destqp", "infiniband.bth.psn",
	"lnet.ib.type", "lnet.ib.credits", "lnet.ib.nob", "lnet.nid.addr", "lnet.msg_type", "lnet.payload_length",
}

// roceOfTshark returns a line for each message that tshark finds, without messages that were sent again.
func roceOfTshark(t testing.TB, file string) (list []string) {
	t.Helper()
	seen := map[string]bool{}
	for line := range tshark(t, file, "infiniband.mad.attributeid or lnet.ib.type", roceFields) {
		v := strings.Split(strings.TrimSuffix(line, "\n"), "\t")
		if len(v) != len(roceFields) {
			t.Fatalf("tshark printed %q", line)
		}
		if v[1] != "" {
			list = append(list, v[0]+" CM "+v[1])
			continue
		}
		if position := v[2] + " " + v[3]; !seen[position] {
			seen[position] = true
			list = append(list, tsharkMessage(t, v))
		}
	}
	return list
}

func tsharkMessage(t testing.TB, v []string) string {
	t.Helper()
	nids := strings.Split(v[7], ",")
	if len(nids) < 2 {
		t.Fatalf("tshark printed %q without NIDs", v)
	}
	line := fmt.Sprintf("%s %s credits %s nob %s %s %s", v[0], v[4], v[5], v[6], nids[0], nids[1])
	if v[8] != "" {
		line += fmt.Sprintf(" LNet %s of %s bytes", v[8], v[9])
	}
	return line
}
