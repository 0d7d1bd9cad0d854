//go:build linux

package main

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"net"
	"sync/atomic"
	"syscall"
	"testing"

	"ulnet/cmd/internal/commands"
	"ulnet/cmd/internal/transcript"
	"ulnet/lnd/lndtest/netlab"
	"ulnet/lnd/lndtest/spec"
)

// Addresses of the two nodes. On its cable to each node, the middlebox has the address of the
// other node.
const (
	clientAddr, serverAddr = "10.89.0.1", "10.89.0.2"
	acceptPort             = "988"
)

// middlebox is a transparent TCP proxy between two hosts: to each host it appears to be the other
// one. It can change a byte of bulk data. No checksum of TCP detects that, because the proxy
// terminates the connection of each side.
type middlebox struct {
	t     *testing.T
	ctx   context.Context
	armed atomic.Bool // the next bulk data are changed
	hits  atomic.Int64
}

// pattern is how bulk data begin: the magic of selftest §7, twice.
var pattern = func() []byte {
	magic := binary.LittleEndian.AppendUint64(nil, 0xeeb0eeb1eeb2eeb3)
	return append(magic, magic...)
}()

// damagedAt is the offset of the changed byte in the bulk data. It lies in the second 8 bytes of a
// page, whereas check=simple compares only the first 8 and the last 8 bytes of a page.
const damagedAt = 12

// damage changes a byte of the first bulk data in a part of a stream, if the middlebox is armed.
func (m *middlebox) damage(b []byte) {
	at := bytes.Index(b, pattern)
	if at < 0 || !m.armed.CompareAndSwap(true, false) {
		return
	}
	b[at+damagedAt] ^= 0x10
	m.hits.Add(1)
}

// newMiddlebox cables two hosts to a proxy.
func newMiddlebox(t *testing.T, lab *netlab.Lab, client, server *netlab.Host) *middlebox {
	t.Helper()
	m := &middlebox{t: t, ctx: t.Context()}
	asServer, asClient := lab.Host("as server"), lab.Host("as client")
	lab.Cable(client, clientAddr+"/24", asServer, serverAddr+"/24")
	lab.Cable(server, serverAddr+"/24", asClient, clientAddr+"/24")
	m.serve(asServer, serverAddr, asClient, clientAddr)
	m.serve(asClient, clientAddr, asServer, serverAddr)
	return m
}

// serve accepts connections in one host and passes them on from the other one.
func (m *middlebox) serve(in *netlab.Host, at string, out *netlab.Host, from string) {
	m.t.Helper()
	var l net.Listener
	if err := in.Do(func() (err error) {
		l, err = net.Listen("tcp4", net.JoinHostPort(at, acceptPort))
		return err
	}); err != nil {
		m.t.Fatal(err)
	}
	m.t.Cleanup(func() { l.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go m.pass(c, out, from, at)
		}
	}()
}

// pass dials the other end and copies both streams until one of them ends.
func (m *middlebox) pass(c net.Conn, out *netlab.Host, from, to string) {
	defer c.Close()
	var d net.Conn
	if err := out.Do(func() (err error) {
		d, err = dialPrivileged(m.ctx, from, to)
		return err
	}); err != nil {
		return // which closes c, so that the end that dialed gets no answer
	}
	defer d.Close()
	done := make(chan struct{}, 2)
	for _, way := range [][2]net.Conn{{c, d}, {d, c}} {
		go func() {
			m.copy(way[0], way[1])
			done <- struct{}{}
		}()
	}
	<-done
}

// copy copies a stream to its end.
func (m *middlebox) copy(from, to net.Conn) {
	b := make([]byte, 64<<10)
	for {
		n, err := from.Read(b)
		m.damage(b[:n])
		if _, failed := to.Write(b[:n]); err != nil || failed != nil {
			return
		}
	}
}

// dialPrivileged dials from a port that only root has, which socklnd requires of its peers.
func dialPrivileged(ctx context.Context, from, to string) (c net.Conn, err error) {
	for port := 1023; port > 512; port-- {
		d := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(from), Port: port}}
		if c, err = d.DialContext(ctx, "tcp4", net.JoinHostPort(to, acceptPort)); !errors.Is(err, syscall.EADDRINUSE) {
			return c, err
		}
	}
	return nil, err
}

// TestCorruption: a byte in the bulk data of one RPC is changed on the wire. socklnd does not notice
// that, because it sends no checksums. With check=full, the client counts one error, as a kernel
// does, and the unit of the test ends. With check=simple, the byte is not compared.
func TestCorruption(t *testing.T) {
	spec.Covers(t, "ST-15", "ST-16", "ST-45")
	bin, err := commands.Build(t.TempDir(), "lnetd")
	if err != nil {
		t.Fatal(err)
	}
	s := &site{&stage{transcript.NewStage(t, bin)}, "tcp", "1"}
	lab := netlab.New(t)
	s.Hosts["1"], s.Hosts["2"] = lab.Host("1"), lab.Host("2")
	m := newMiddlebox(t, lab, s.Hosts["1"], s.Hosts["2"])
	for _, name := range []string{"1", "2"} {
		s.Start(name, "tcp(eth0)", "selftest: 1\n")
	}
	s.must("new_session corruption")
	s.must("add_group client " + clientAddr + "@tcp")
	s.must("add_group server " + serverAddr + "@tcp")
	s.corrupted(m, "write", "brw write check=full size=16K", totals{RPCs: 1, BRWErrors: 1})
	s.corrupted(m, "read", "brw read check=full size=16K", totals{RPCs: 1, BRWErrors: 1})
	s.corrupted(m, "simple", "brw read check=simple size=16K", totals{RPCs: 10})
	d := answer[errorsDoc](s, 0, "show_error --session client server")
	if len(d.Targets) != 2 || len(d.Targets[0].Nodes) != 1 || d.Targets[0].Nodes[0].BRWErrors != 2 || len(d.Targets[1].Nodes) != 0 {
		t.Errorf("show_error: %+v", d)
	}
}

// corrupted runs a test of ten RPCs, whose first bulk data are changed, and compares how many RPCs and errors there are.
func (s *site) corrupted(m *middlebox, name, test string, want totals) {
	s.T.Helper()
	s.must("add_batch " + name)
	s.must("add_test --batch " + name + " --loop 10 --from client --to server " + test)
	before, code := m.hits.Load(), 0
	if want.BRWErrors > 0 {
		code = testsFailed
	}
	m.armed.Store(true)
	if d := answer[runDoc](s, code, "run --wait "+name); d.RPCs != want.RPCs || d.BRWErrors != want.BRWErrors {
		s.T.Errorf("%s: %+v", test, d)
	}
	if got := m.hits.Load() - before; got != 1 {
		s.T.Errorf("%s: %d bytes were changed", test, got)
	}
}
