//go:build linux

package main_test

import (
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"ulnet/cmd/internal/admin"
	"ulnet/cmd/internal/node"
	"ulnet/cmd/lnetd/internal/lnetdtest"
	"ulnet/lnd/lndtest/loopback"
	"ulnet/lnd/socklnd/ksock"
	"ulnet/lnet"
	"ulnet/lnet/nid"
	"ulnet/lnet/wire"
	"ulnet/scoll"
	scollwire "ulnet/scoll/wire"
)

// forgery has a daemon (the victim), a root that may run actions there, a peer that the victim
// asks, and an attacker that has connections under its own address. Each of the four has an
// address of its own.
type forgery struct {
	t        *testing.T
	hosts    []netip.Addr // addresses of the victim, the root, the asked peer and the attacker
	victim   *lnetdtest.Daemon
	to       netip.AddrPort // address and port of the victim
	rootID   nid.ProcessID
	asked    *lnetdtest.Peer
	answers  *net.TCPConn // connection on which the asked peer answers the victim
	attacker *lnetdtest.Peer
	lies     *net.TCPConn // connection on which the attacker sends to the victim
}

func newForgery(t *testing.T, commands lnetdtest.Commands, settings ...string) *forgery {
	t.Helper()
	f := &forgery{t: t}
	n := byte(sieges.Add(1))
	for i := range byte(4) {
		f.hosts = append(f.hosts, netip.AddrFrom4([4]byte{127, 3, n, i + 1}))
	}
	port, err := loopback.FreePort(f.hosts...)
	if err != nil {
		t.Fatal(err)
	}
	f.to, f.rootID = netip.AddrPortFrom(f.hosts[0], port), tcpID(f.hosts[1])
	f.victim = f.start(commands, 0, settings...)
	f.asked = lnetdtest.NewPeer(t, tcpID(f.hosts[2]), f.hosts[2], f.to)
	f.attacker = lnetdtest.NewPeer(t, tcpID(f.hosts[3]), f.hosts[3], f.to)
	f.lies = f.attacker.ConnectAll()[0]
	return f
}

// tcpID returns the process ID of the Lustre process on a host.
func tcpID(a netip.Addr) nid.ProcessID {
	return nid.ProcessID{NID: nid.FromAddr(nid.MakeNet(nid.TCP, 0), a), PID: nid.LustrePID}
}

// marks returns the name of a file to which each run of the action "mark" on a host adds a
// line.
func (f *forgery) marks(host int) string {
	return filepath.Join(f.t.ArtifactDir(), fmt.Sprint("marks", host))
}

// start starts the lnetd of a host.
func (f *forgery) start(commands lnetdtest.Commands, host int, settings ...string) *lnetdtest.Daemon {
	return commands.Start(f.t, lnetdtest.Config{
		Networks: fmt.Sprintf("tcp(%v)", f.hosts[host]), Port: f.to.Port(),
		Settings: append([]string{
			"lnet_peer_discovery_disabled: 1",
			"scoll:", "  enable: 1", "  groups:", "    all:", fmt.Sprintf("      nids: ['%v', '%v']", f.rootID.NID, tcpID(f.hosts[0]).NID),
			"  admin:", "    actions_without_identity: yes", // actions are allowed without identity, so that only the check of sources can refuse them
			fmt.Sprintf("    allow_roots: [%v]", f.rootID.NID), "    actions:", "      mark:",
			fmt.Sprintf("        run: [/bin/sh, -c, 'echo x >> %s']", f.marks(host)),
		}, settings...),
	})
}

// wantDrops waits until the given numbers of messages have been dropped for each of two reasons.
func (f *forgery) wantDrops(foreign, notAsked uint64) {
	f.t.Helper()
	f.victim.Until(reaction, fmt.Sprintf("%d foreign sources and %d that were not asked", foreign, notAsked), func() bool {
		drops := f.victim.Status().Stats.DropReasons
		return drops[lnet.ForeignSource.String()] == foreign && drops[lnet.NotAsked.String()] == notAsked
	})
}

// lie sends a message over the attacker's connection that names another process as its source.
func (f *forgery) lie(source nid.ProcessID, h wire.Header, payload []byte) {
	f.t.Helper()
	h.SrcNID, h.SrcPID = source.NID, source.PID
	if _, err := f.lies.Write(f.attacker.Message(lnetHeader, h, payload)); err != nil {
		f.t.Fatal(err)
	}
}

// next returns the header of the next message on a connection.
func (f *forgery) next(c *net.TCPConn) wire.Header {
	f.t.Helper()
	_ = c.SetReadDeadline(time.Now().Add(reaction))
	b := make([]byte, ksock.MsgHeaderSize+wire.HeaderSize)
	if _, err := io.ReadFull(c, b); err != nil {
		f.t.Fatal(err)
	}
	h, _, err := wire.ParseHeader(b[ksock.MsgHeaderSize:])
	if err == nil {
		_, err = io.CopyN(io.Discard, c, int64(h.PayloadLength))
	}
	if err != nil {
		f.t.Fatal(err)
	}
	return h
}

// order returns a request of the root to run the action "mark".
func (f *forgery) order() (h wire.Header, payload []byte) {
	f.t.Helper()
	members, err := scoll.NewMembership([]scoll.Target{
		{NID: f.rootID.NID}, {NID: f.attacker.Target, Entities: []scoll.Entity{{}}},
	})
	if err != nil {
		f.t.Fatal(err)
	}
	now := uint64(time.Now().UnixNano())
	q := admin.Request{Version: admin.Version, Verb: admin.Run, Answer: 4096, Limit: 5000, Name: "mark"}
	list, body := members.AppendTo(nil), q.AppendTo(nil)
	r := scollwire.RequestHeader{
		ReplyBits: 5555, Sequence: 1, First: 1, RootIncarnation: now, Service: admin.ServiceID, Flags: scollwire.FlagList,
		Group: scoll.GroupID{Creator: f.rootID.NID, Incarnation: now, Index: 900, Digest: members.Digest()},
		Tree:  scoll.Tree{Type: scoll.KNomial, K: 2}, Nodes: 2, RTT: time.Millisecond, Guard: time.Millisecond,
		Processing: 5 * time.Second, ListSize: uint32(len(list)), PayloadSize: uint32(len(body)),
	}
	payload = append(append(r.AppendTo(nil), list...), body...)
	h = f.attacker.Header()
	h.SetPut(wire.PutCmd{AckMD: wire.NoHandle(), Portal: scollwire.RequestPortal})
	h.PayloadLength = uint32(len(payload))
	return h, payload
}

// TestForgedNames: an attacker with connections under its own address sends orders in the name
// of an allowed root, and answers in place of a node that the victim has asked. Each forged
// message is dropped and counted, and afterwards all honest operations work.
func TestForgedNames(t *testing.T) {
	t.Parallel()
	f := newForgery(t, lnetdtest.Build(t))
	f.answers = f.asked.ConnectAll()[0]
	t.Run("order", f.forgeOrder)
	t.Run("reply", f.forgeReply)
	t.Run("ack", f.forgeAck)
	if drops := f.victim.Status().Stats.DropReasons; len(drops) != 2 {
		t.Errorf("dropped %v", drops)
	}
	for _, p := range []*lnetdtest.Peer{f.asked, f.attacker} {
		if _, err := p.Ping(pingLimit); err != nil {
			t.Errorf("afterwards: %v", err)
		}
	}
}

func (f *forgery) forgeOrder(t *testing.T) {
	h, payload := f.order()
	f.lie(f.rootID, h, payload)
	f.wantDrops(1, 0)
	root := f.start(lnetdtest.Build(t), 1)
	if out, err := root.Scollctl(t.Context(), "bcast", "--action", "mark"); err != nil {
		t.Errorf("the root's own order: %v\n%s", err, out)
	}
	b, err := os.ReadFile(f.marks(0))
	if n := strings.Count(string(b), "x"); n != 1 || err != nil {
		t.Errorf("the action has run %d times, %v; want once", n, err)
	}
}

// forgeReply makes the victim ping a node that answers late. In the meantime, the attacker sends
// a forged answer.
func (f *forgery) forgeReply(t *testing.T) {
	type result struct {
		reply node.PingReply
		err   error
	}
	pinged := make(chan result, 1)
	go func() {
		reply, err := node.OpPing.Call(t.Context(), f.victim.Control(), node.PingRequest{Target: f.asked.ID, Timeout: reaction})
		pinged <- result{reply, err}
	}()
	get := f.next(f.answers)
	h, payload := f.pong(wire.FeatureNIStatus, get.Get().ReturnMD)
	lie, lied := f.pong(wire.FeatureNIStatus|wire.FeatureMultiRail, get.Get().ReturnMD)
	f.lie(f.attacker.ID, lie, lied)
	f.lie(f.asked.ID, lie, lied)
	f.wantDrops(2, 1)
	if _, err := f.answers.Write(f.asked.Message(lnetHeader, h, payload)); err != nil {
		t.Fatal(err)
	}
	if r := <-pinged; r.err != nil || r.reply.MultiRail {
		t.Errorf("ping: %+v, %v", r.reply, r.err)
	}
}

// pong returns the REPLY of the asked peer to a ping.
func (f *forgery) pong(features wire.Features, to wire.MDHandle) (h wire.Header, payload []byte) {
	f.t.Helper()
	payload, err := wire.PingInfo{Features: features, PID: nid.LustrePID, NIs: []wire.NIStatus{
		{NID: nid.Lo0(), Status: wire.StatusUp}, {NID: f.asked.ID.NID, Status: wire.StatusUp},
	}}.AppendBinary(nil)
	if err != nil {
		f.t.Fatal(err)
	}
	h = f.asked.Header()
	h.SetReply(wire.ReplyCmd{DstMD: to})
	h.PayloadLength = uint32(len(payload))
	return h, payload
}

// forgeAck makes the victim send a PUT that asks for an ACK to a node that answers late. In the
// meantime, the attacker sends a forged ACK.
func (f *forgery) forgeAck(t *testing.T) {
	put := make(chan error, 1)
	go func() {
		put <- node.OpPut.CallWith(t.Context(), f.victim.Control(), node.PutRequest{
			Target: f.asked.ID, Portal: 20, Ack: true, Timeout: reaction,
		}, strings.NewReader("data"), func(node.Step) error { return nil })
	}()
	sent := f.next(f.answers)
	h := f.asked.Header()
	h.SetAck(wire.AckCmd{DstMD: sent.Put().AckMD, MatchBits: sent.Put().MatchBits, MLength: 4})
	f.lie(f.attacker.ID, h, nil)
	f.lie(f.asked.ID, h, nil)
	f.wantDrops(3, 2)
	select {
	case err := <-put:
		t.Fatalf("the PUT is over before its ACK has come: %v", err)
	default:
	}
	if _, err := f.answers.Write(f.asked.Message(lnetHeader, h, nil)); err != nil {
		t.Fatal(err)
	}
	if err := <-put; err != nil {
		t.Errorf("PUT: %v", err)
	}
}

// TestNoDialForHeaders: an lnetd that does not check sources still answers over the connection
// on which the request came. It does not connect to a node just because a header names that
// node.
func TestNoDialForHeaders(t *testing.T) {
	t.Parallel()
	f := newForgery(t, lnetdtest.Build(t), "source_check: off")
	named, err := net.Listen("tcp", netip.AddrPortFrom(f.hosts[2], f.to.Port()).String())
	if err != nil {
		t.Fatal(err)
	}
	defer named.Close()
	h := f.attacker.Header()
	h.SetGet(wire.GetCmd{
		ReturnMD: wire.MDHandle{Interface: 1, Object: 2}, MatchBits: wire.PingMatchBits, Portal: wire.PingPortal,
		SinkLength: uint32(wire.PingInfoSize(wire.MinPingEntries)),
	})
	f.lie(f.asked.ID, h, nil)
	if reply := f.next(f.lies); reply.Type != wire.Reply || reply.DestNID != f.asked.ID.NID {
		t.Errorf("answered by a %v for %v", reply.Type, reply.DestNID)
	}
	_ = named.(*net.TCPListener).SetDeadline(time.Unix(1, 0))
	if c, err := named.Accept(); !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("the node that the header names was dialled: %v, %v", c, err)
	}
}
