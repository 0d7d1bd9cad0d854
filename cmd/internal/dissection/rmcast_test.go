package dissection

import (
	"encoding/json"
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"ulnet/lnd/capture"
	"ulnet/lnd/capture/capturetest"
	"ulnet/lnd/lndtest/effort"
	"ulnet/lnd/lndtest/needs"
	"ulnet/lnd/lndtest/spec"
	"ulnet/lnet/nid"
	"ulnet/lnet/wire"
	"ulnet/portals/keyring"
	"ulnet/scoll/rmcast"
	rmcastwire "ulnet/scoll/rmcast/wire"
)

// rmcastFile is the capture that testdata/rmcast.txt prints.
var rmcastFile = filepath.Join(captures, "rmcast.pcapng")

// TestRmcastDecodes: all messages of a recorded exchange are parsed, and truncated messages are
// reported as such. RM-1: the capture has each message once, as a multicast.
func TestRmcastDecodes(t *testing.T) {
	spec.Covers(t, "RM-1")
	seen, datagrams := map[string]int{}, map[string]int{}
	capturetest.Decode(t, rmcastFile, func(r *capture.Record) {
		p, ok := rmcastPortals.Read(r)
		if !ok {
			return
		}
		if p.Err != nil || p.Protocol != "rmcast" {
			t.Errorf("frame %d: %+v", r.Frame, p)
			return
		}
		switch m := p.Is.(type) {
		case *mcastDatagram:
			seen[m.kind()]++
			if m.kind() == "data" && r.Datagram {
				datagrams[fmt.Sprintf("#%d %d", m.Origin, m.Seq)]++
			}
		case *mcastControl:
			for i := range m.entries {
				seen[m.entries[i].Kind.String()]++
			}
		case *mcastOrder:
			seen[m.Kind.String()]++
		}
		cut := *r
		cut.Payload, cut.Missing = r.Payload[:len(r.Payload)-1], 1
		if p, _ := rmcastPortals.Read(&cut); p.Err != capture.ErrPartOfPayload {
			t.Errorf("frame %d, cut: %+v", r.Frame, p)
		}
	})
	for _, kind := range []string{"data", "heartbeat", "repair", "ack", "need", "poll", "query", "stable", "join", "report", "list", "state"} {
		if seen[kind] == 0 {
			t.Errorf("there is no %s in %v", kind, seen)
		}
	}
	for which, n := range datagrams {
		if n != 1 {
			t.Errorf("%s was sent %d times", which, n)
		}
	}
	if len(datagrams) != 18 {
		t.Errorf("%d datagrams", len(datagrams))
	}
}

// TestRmcastTshark: Wireshark shows the datagrams as UDP to the address and port of the group,
// with the same lengths, and the other messages as LNet.
func TestRmcastTshark(t *testing.T) {
	effort.OneGoroutine(t)
	path := needs.Program(t, "tshark")
	out, err := exec.CommandContext(t.Context(), path, "-r", rmcastFile, "-Y", "udp && ip.dst == 239.76.0.7", "-T", "fields",
		"-e", "frame.number", "-e", "udp.dstport", "-e", "udp.length").Output()
	if err != nil {
		t.Fatal("tshark:", err)
	}
	const udpHeader = 8
	ours := ""
	var unicast []capturetest.Message
	messages := capturetest.Messages(t, rmcastFile)
	capturetest.Decode(t, rmcastFile, func(r *capture.Record) {
		if r.Datagram {
			ours += fmt.Sprintf("%d\t%d\t%d\n", r.Frame, r.Dst().Port(), r.Length+udpHeader)
			messages = slices.DeleteFunc(messages, func(m capturetest.Message) bool { return m.Frame == r.Frame })
		}
	})
	unicast = capturetest.Tshark(t, rmcastFile)
	if diff := cmp.Diff(string(out), ours); diff != "" || ours == "" {
		t.Errorf("datagrams (-tshark +ours):\n%s", diff)
	}
	if diff := cmp.Diff(unicast, messages); diff != "" || len(messages) == 0 {
		t.Errorf("the rest (-tshark +ours):\n%s", diff)
	}
}

// TestRmcastSigned: signed messages are parsed and shown as signed, and a refusal is shown
// with its reason.
func TestRmcastSigned(t *testing.T) {
	keys, err := keyring.NewKeys([]byte("sixteen bytes or more"))
	if err != nil {
		t.Fatal(err)
	}
	ring, v := keys.Ring("rmcast"), rmcast.Version{Epoch: 1, Counter: 2}
	d := rmcastwire.Datagram{Group: 7, Version: v, Origin: 1, Length: 5, Seq: 1, Count: 1, Size: 5, First: 1, Stable: 1, Flags: rmcastwire.FlagSigned}
	o := rmcastwire.Order{Kind: rmcastwire.OrderRefused, Flags: rmcastwire.OrderSigned, Group: 7, You: uint32(rmcastwire.RefusedStranger)}
	control := rmcastwire.AppendControl(nil, 7, v, []rmcastwire.Entry{{Kind: rmcastwire.Ack, Origin: 1, Version: v, First: 1, Count: 1}})
	control[12] = 1
	for portal, b := range map[int][]byte{
		rmcastwire.DataPortal: append(d.AppendTo(nil), "hello"...), rmcastwire.ManagerPortal: o.AppendTo(nil), rmcastwire.ControlPortal: control,
	} {
		is, err := rmcastPortals[uint32(portal)].Read(wire.PutCmd{}, ring.Append(b, 0, keyring.Binding{}))
		if err != nil {
			t.Errorf("portal %d: %v", portal, err)
			continue
		}
		text, err := json.Marshal(is)
		if err != nil || !strings.Contains(string(text), `"signed":true`) || !strings.Contains(strings.Join(is.Details(), "\n"), "signed") {
			t.Errorf("portal %d: %v, %s, %v", portal, is.Details(), text, err)
		}
		if portal == rmcastwire.ManagerPortal && !strings.Contains(is.Summary(), "refused, group 7: rmcast: the node is not on the list") {
			t.Error(is.Summary())
		}
	}
}

// TestRmcastPacked: a datagram with several messages is shown as such.
func TestRmcastPacked(t *testing.T) {
	d := rmcastwire.Datagram{
		Group: 7, Flags: rmcastwire.FlagPacked, Version: rmcast.Version{Epoch: 1, Counter: 2}, Origin: 1, Length: 7, Seq: 5, Count: 2, Size: 7, First: 1, Stable: 5,
	}
	is, err := rmcastPortals[rmcastwire.DataPortal].Read(wire.PutCmd{}, rmcastwire.AppendMessage(rmcastwire.AppendMessage(d.AppendTo(nil), []byte("one")), nil))
	if err != nil {
		t.Fatal(err)
	}
	text, err := json.Marshal(is)
	details := strings.Join(is.Details(), "\n")
	if err != nil || !strings.Contains(is.Summary(), "seq 5 to 6") || !strings.Contains(details, "flags packed") || !strings.Contains(details, "2 messages in 7 bytes") ||
		!strings.Contains(string(text), `"messages":2`) {
		t.Errorf("%s\n%s\n%s, %v", is.Summary(), details, text, err)
	}
}

// TestRmcastControlInData: the control message in a datagram is shown after the datagram.
func TestRmcastControlInData(t *testing.T) {
	v := rmcast.Version{Epoch: 1, Counter: 2}
	d := rmcastwire.Datagram{Group: 7, Flags: rmcastwire.FlagRepair | rmcastwire.FlagControl, Version: v, Origin: 1, Length: 5, Seq: 5, Count: 1, Size: 5, First: 1, Stable: 5}
	b := rmcastwire.AppendControl(append(d.AppendTo(nil), "hello"...), 7, v, []rmcastwire.Entry{{Kind: rmcastwire.Ack, Origin: 3, Version: v, First: 9, Count: 1}})
	is, err := rmcastPortals[rmcastwire.DataPortal].Read(wire.PutCmd{}, b)
	if err != nil {
		t.Fatal(err)
	}
	text, err := json.Marshal(is)
	details := strings.Join(is.Details(), "\n")
	if err != nil || !strings.Contains(is.Summary(), "seq 5, stable below 5; rmcast group 7, ack #3 seq 9") || !strings.Contains(details, "control, version 2") ||
		!strings.Contains(string(text), `"control":{"kind":"control"`) {
		t.Errorf("%s\n%s\n%s, %v", is.Summary(), details, text, err)
	}
	if is, err := rmcastPortals[rmcastwire.DataPortal].Read(wire.PutCmd{}, b[:len(b)-1]); is == nil || !errors.Is(err, rmcastwire.ErrShort) {
		t.Errorf("cut short: %v, %v", is, err)
	}
}

// TestRmcastHostile: a payload that is not a message is shown as bytes. A message whose fields
// contradict each other is shown with its fields. Nothing panics.
func TestRmcastHostile(t *testing.T) {
	v := rmcast.Version{Epoch: 1, Counter: 2}
	datagram := rmcastwire.Datagram{Group: 7, Version: v, Origin: 1, Length: 5, Seq: 1, Count: 1, Size: 5, First: 1, Stable: 1}
	odd := datagram
	odd.Stable, odd.First = 3, 5
	entry := rmcastwire.Entry{Kind: rmcastwire.Ack, Origin: 1, Version: v, First: 1, Count: 1}
	unknown := entry
	unknown.Kind = 99
	order := rmcastwire.Order{Kind: rmcastwire.OrderList, Group: 7, Epoch: 1, Version: v, Members: []rmcast.Member{
		{ID: rmcast.ID{NID: nid.MustParse("10.0.0.1@tcp"), Incarnation: 1}, Number: 2}, {ID: rmcast.ID{NID: nid.MustParse("10.0.0.2@tcp"), Incarnation: 1}, Number: 1},
	}}
	for _, c := range []struct {
		name   string
		portal int
		data   []byte
		is     bool
		err    error
	}{
		{"nothing", rmcastwire.DataPortal, nil, false, rmcastwire.ErrShort},
		{"another protocol", rmcastwire.DataPortal, make([]byte, 100), false, rmcastwire.ErrMagic},
		{"data without its fragment", rmcastwire.DataPortal, datagram.AppendTo(nil), true, rmcastwire.ErrShort},
		{"contradictory", rmcastwire.DataPortal, append(odd.AppendTo(nil), "hello"...), true, rmcastwire.ErrHeader},
		{"control without entries", rmcastwire.ControlPortal, rmcastwire.AppendControl(nil, 7, v, nil), false, rmcastwire.ErrShort},
		{"an unknown entry", rmcastwire.ControlPortal, rmcastwire.AppendControl(nil, 7, v, []rmcastwire.Entry{unknown, entry}), true, rmcastwire.ErrHeader},
		{"numbers that fall", rmcastwire.ManagerPortal, order.AppendTo(nil), true, rmcastwire.ErrHeader},
		{"members that are missing", rmcastwire.ManagerPortal, order.AppendTo(nil)[:130], true, rmcastwire.ErrShort},
		{"a datagram for managers", rmcastwire.ManagerPortal, append(datagram.AppendTo(nil), "hello"...), false, rmcastwire.ErrMagic},
	} {
		is, err := rmcastPortals[uint32(c.portal)].Read(wire.PutCmd{}, c.data)
		if !errors.Is(err, c.err) || (is != nil) != c.is {
			t.Errorf("%s: %v, %v", c.name, is, err)
			continue
		}
		if is != nil {
			if text := is.Summary() + strings.Join(is.Details(), "\n"); !strings.Contains(text, "group 7") {
				t.Errorf("%s: %s", c.name, text)
			}
			if _, err := json.Marshal(is); err != nil {
				t.Errorf("%s: %v", c.name, err)
			}
		}
	}
}
