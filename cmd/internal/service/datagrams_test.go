package service

import (
	"errors"
	"net"
	"slices"
	"syscall"
	"testing"
	"time"

	"ulnet/lnd/lndtest/spec"
)

// TestDatagrams: datagrams that arrive while no process runs wait for the next one. The manager
// forgets the socket of an NI that is removed, and the address can be used again at once.
func TestDatagrams(t *testing.T) {
	spec.Covers(t, "OP-80", "OP-84")
	k := newKeeper(t)
	first := k.process(t, "")
	options := 0
	how := net.ListenConfig{Control: func(string, string, syscall.RawConn) error { options++; return nil }}
	c, err := first.ListenPacket(how, anyPort)
	if err != nil {
		t.Fatal(err)
	}
	first.Started()
	local := addressOf(c.LocalAddr())
	name := udpAt(local).name()
	if store := k.await(t, "FDSTORE=1"); store != "FDSTORE=1\nFDNAME="+name+"\nFDPOLL=0" {
		t.Errorf("%q", store)
	}
	file := fileOf(t, c.(*datagrams).UDPConn) // plays the manager's copy of the descriptor
	first.Stopping()
	if err := c.Close(); err != nil {
		t.Fatal(err)
	}
	peer, err := net.Dial("udp", local.String())
	if err != nil {
		t.Fatal(err)
	}
	defer peer.Close()
	if _, err := peer.Write([]byte("early")); err != nil {
		t.Fatal(err)
	}

	next := k.process(t, name, file)
	if c, err = next.ListenPacket(how, local); err != nil {
		t.Fatal(err)
	}
	next.Started()
	_ = c.SetReadDeadline(time.Now().Add(waitLimit))
	b := make([]byte, 100)
	n, from, err := c.ReadFrom(b)
	if err != nil || string(b[:n]) != "early" || from.String() != peer.LocalAddr().String() {
		t.Errorf("%q from %v, %v", b[:n], from, err)
	}
	if options != 2 || !slices.Equal(k.Stored(), []string{name}) {
		t.Errorf("options were set %d times, stored %v", options, k.Stored())
	}
	_ = file.Close()
	for range 5 {
		if err := c.Close(); err != nil {
			t.Fatal(err)
		}
		if c, err = next.ListenPacket(how, local); err != nil {
			t.Fatal(err)
		}
	}
	_ = c.Close()
	_ = next.manager.barrier(waitLimit) // returns when the manager has read all messages
	if len(k.Stored()) > 0 {
		t.Errorf("stored %v", k.Stored())
	}
	if _, err := c.WriteTo(nil, peer.LocalAddr()); !errors.Is(err, net.ErrClosed) {
		t.Errorf("after Close: %v", err)
	}
}
