//go:build linux

package main_test

import (
	"encoding/json"
	"fmt"
	"io"
	"math"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"ulnet/cmd/internal/admin"
	"ulnet/cmd/internal/control"
	scollmod "ulnet/cmd/internal/modules/scoll"
	"ulnet/cmd/lnetd/internal/lnetdtest"
	"ulnet/lnd/lndtest/netlab"
	"ulnet/lnd/socklnd/ksock"
	"ulnet/lnet/nid"
	"ulnet/lnet/wire"
	"ulnet/scoll"
	scollwire "ulnet/scoll/wire"
)

const (
	// scollPort is above 1023: connections to it need no privileged source port, and prove no identity.
	scollPort    = 7988
	scollServers = 4
	// scollTimeout is the time that an honest root gives its members.
	scollTimeout = 5 * time.Second
)

// scollSiege has servers on a switch, and a stranger with connections to all of them.
type scollSiege struct {
	t        *testing.T
	stranger *netlab.Host
	servers  []*lnetdtest.Daemon
	attacks  []*attack // the stranger's connections, by server
	index    uint64    // index of the stranger's next group
}

func memberNID(i int) nid.NID { return nid.MustParse(fmt.Sprintf("10.4.0.%d@tcp", i+1)) }

var strangerNID = nid.MustParse("10.4.0.99@tcp")

func newScollSiege(t *testing.T, settings, ofAdmin string) *scollSiege {
	t.Helper()
	lab := netlab.New(t)
	sw := lab.Switch("switch")
	commands := lnetdtest.Build(t)
	s := &scollSiege{t: t, stranger: lab.Host("stranger")}
	lab.Cable(s.stranger, "10.4.0.99/24", sw, "")
	for i := range scollServers {
		h := lab.Host(fmt.Sprintf("member %d", i))
		lab.Cable(h, fmt.Sprintf("10.4.0.%d/24", i+1), sw, "")
		s.servers = append(s.servers, commands.Start(t, lnetdtest.Config{
			Crowd:    true,
			Networks: "tcp(eth0)", Port: scollPort, Within: h.Do,
			Settings: []string{
				"scoll:", "  enable: 1", settings, "  groups:", "    all:", "      nids: ['10.4.0.[1-4]@tcp']",
				"  admin:", "    allow_roots: [10.4.0.1@tcp]", ofAdmin, "    actions:", "      hello:", "        run: [/bin/echo, hello]",
			},
		}))
	}
	return s
}

// honest makes each server ask all servers, and fails the test unless all of them answer within
// one timeout.
func (s *scollSiege) honest(when string) {
	s.t.Helper()
	for i, d := range s.servers {
		var a broadcastDoc
		out, err := d.Scollctl(s.t.Context(), "ping", "--json", "--timeout", scollTimeout.String())
		if jerr := json.Unmarshal([]byte(out), &a); jerr != nil || err != nil || len(a.Reached) != scollServers {
			s.t.Errorf("%s: server %d reaches %v, not %+v; %v %v", when, i, a.Reached, a.Unreached, err, jerr)
		}
	}
}

// sum returns the sum of a counter over all servers.
func (s *scollSiege) sum(counter string) (n uint64) {
	s.t.Helper()
	for _, d := range s.servers {
		status, err := scollmod.OpStatus.Call(s.t.Context(), d.Control(), control.None{})
		if err != nil {
			s.t.Fatal(err)
		}
		n += status.Stats[counter]
	}
	return n
}

// attack is a connection of the stranger to a server.
type attack struct {
	peer   *lnetdtest.Peer
	to     nid.NID
	conn   *net.TCPConn
	broken error
}

// attack opens the stranger's connection to server i.
func (s *scollSiege) attack(i int) *attack {
	s.t.Helper()
	a := &attack{to: memberNID(i)}
	a.peer = lnetdtest.NewPeer(s.t, nid.ProcessID{NID: strangerNID, PID: nid.LustrePID}, netip.MustParseAddr("10.4.0.99"),
		netip.AddrPortFrom(a.to.Addr(), scollPort))
	err := s.stranger.Do(func() error {
		for _, c := range a.peer.ConnectAll() {
			_ = c.SetDeadline(time.Time{})
			go io.Copy(io.Discard, c) // reads the answers until the connection ends
			a.conn = c
		}
		return nil
	})
	if err != nil {
		s.t.Fatal(err)
	}
	return a
}

// request sends a request over a group whose members are the stranger, the server and others.
func (a *attack) request(index uint64, others []nid.NID, change func(*scollwire.RequestHeader)) {
	targets := []scoll.Target{{NID: strangerNID, Entities: []scoll.Entity{{1}}}}
	for _, id := range append([]nid.NID{a.to}, others...) {
		targets = append(targets, scoll.Target{NID: id, Entities: []scoll.Entity{{1}}})
	}
	members, err := scoll.NewMembership(targets)
	if err != nil {
		a.broken = err
		return
	}
	q := admin.Request{Version: admin.Version, Verb: admin.Ping, Answer: 100}
	payload := q.AppendTo(nil)
	now := uint64(time.Now().UnixNano())
	h := scollwire.RequestHeader{
		ReplyBits: index, Sequence: 1, First: 1, RootIncarnation: now, Service: admin.ServiceID, Flags: scollwire.FlagList,
		Group: scoll.GroupID{Creator: strangerNID, Incarnation: now, Index: index, Digest: members.Digest()},
		Tree:  scoll.Tree{Type: scoll.KAry, K: uint32(max(len(others)/2, 1))}, Nodes: uint32(members.Len()),
		RTT: time.Millisecond, Guard: 5 * time.Millisecond, Processing: time.Second,
		ListSize: uint32(members.Size()), PayloadSize: uint32(len(payload)),
	}
	if change != nil {
		change(&h)
	}
	b := h.AppendTo(nil)
	if h.ListSize > 0 {
		b = members.AppendTo(b)
	}
	header := a.peer.Header()
	header.SetPut(wire.PutCmd{AckMD: wire.NoHandle(), Portal: scollwire.RequestPortal})
	b = append(b, payload...)
	header.PayloadLength = uint32(len(b))
	if _, err := a.conn.Write(a.peer.Message(ksock.MsgHeader{Type: ksock.LNet}, header, b)); err != nil {
		a.broken = err
	}
}

// nowhere returns n addresses that no node has.
func nowhere(from, n int) (ids []nid.NID) {
	for i := range n {
		ids = append(ids, nid.MustParse(fmt.Sprintf("10.4.%d.%d@tcp", 1+(from+i)/200, 1+(from+i)%200)))
	}
	return ids
}

// forge sends a request that claims a given incarnation of a server, both as the creator of the
// group and as the root.
func (a *attack) forge(index uint64, owner nid.NID, incarnation uint64) {
	a.request(index, []nid.NID{owner}, func(h *scollwire.RequestHeader) {
		h.Group.Creator, h.Group.Incarnation = owner, incarnation
	})
	a.request(index+1, []nid.NID{owner}, func(h *scollwire.RequestHeader) {
		h.Group.Creator, h.Group.Incarnation, h.RootIncarnation = owner, incarnation, incarnation
		h.Root, h.Tree = 2, scoll.Tree{Type: scoll.KAry, K: 1} // the stranger is between the root and the victim in the tree
	})
}

// storm sends all attacks of the stranger.
func (s *scollSiege) storm() {
	s.t.Helper()
	for i := len(s.attacks); i < len(s.servers); i++ {
		s.attacks = append(s.attacks, s.attack(i))
	}
	s.index += 10_000
	for i := range s.servers {
		a := s.attacks[i]
		for round := range 20 { // 20 requests, each over 50 addresses that no node has: first, before the stranger has used up its share of memory
			a.request(s.index+uint64(3000+round), nowhere(50*round, 50), nil)
		}
		for owner := range s.servers {
			if owner == i {
				continue
			}
			for k, incarnation := range []uint64{math.MaxUint64, uint64(time.Now().Add(time.Hour).UnixNano())} {
				a.forge(s.index+uint64(100*owner+10*k), memberNID(owner), incarnation)
			}
		}
		for index := range uint64(1000) { // more groups than the servers can keep
			a.request(s.index+1000+index, nil, nil)
		}
		for index := range uint64(100) { // requests whose lists of members never arrive
			a.request(s.index+4000+index, nil, func(h *scollwire.RequestHeader) {
				h.List, h.ListSize = scollwire.RMA{Bits: index, Length: 13 << 20}, 0
			})
		}
		if a.broken != nil {
			s.t.Errorf("server %d: %v", i, a.broken)
		}
	}
}

// dialed counts the stranger's false addresses to which a server has tried to connect.
func (s *scollSiege) dialed(d *lnetdtest.Daemon) int {
	s.t.Helper()
	out, err := d.Lnetctl(s.t.Context(), "peer", "show")
	if err != nil {
		s.t.Fatal(err)
	}
	tried := map[string]bool{}
	for word := range strings.FieldsSeq(out) {
		id, err := nid.Parse(word)
		if err == nil && id.Addr().As4()[2] != 0 {
			tried[word] = true
		}
	}
	return len(tried)
}

// TestStrangerAmongServers: a stranger with a connection to each server creates groups in large
// numbers, names a thousand addresses, makes servers fetch lists that never arrive, and forges
// incarnations of the servers. The servers can still ask each other as before, within one
// timeout and without a restart.
func TestStrangerAmongServers(t *testing.T) {
	if os.Getenv("ULNET_LONG") == "" {
		t.Skip("takes a while; set ULNET_LONG")
	}
	s := newScollSiege(t, "", "    actions_without_identity: no")
	s.honest("before")
	s.storm()
	s.honest("during")
	s.storm()
	s.honest("after")
	for counter, least := range map[string]uint64{"ahead": scollServers * 2, "busy": 100, "not_listed": 100} {
		if n := s.sum(counter); n < least {
			t.Errorf("%s is %d, want %d at least", counter, n, least)
		}
	}
	for i, d := range s.servers {
		if n := s.dialed(d); n > 16 || n == 0 {
			t.Errorf("server %d has tried %d strange addresses", i, n)
		}
	}
	out, err := s.servers[0].Scollctl(t.Context(), "bcast", "--action", "hello")
	if err == nil || strings.Count(out, "hello") != 1 || !strings.Contains(out, "actions_without_identity: yes") {
		t.Errorf("an action at port %d: %v\n%s", scollPort, err, out)
	}
}

// TestStrangerWithoutKey: servers that have a key accept none of the stranger's messages.
// With a key, actions are also carried out if the nodes use an unprivileged port.
func TestStrangerWithoutKey(t *testing.T) {
	if os.Getenv("ULNET_LONG") == "" {
		t.Skip("takes a while; set ULNET_LONG")
	}
	file := filepath.Join(t.TempDir(), "key")
	if err := os.WriteFile(file, []byte("sixteen bytes at least\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	s := newScollSiege(t, "  key_file: "+file, "    actions_without_identity: no")
	s.honest("before")
	s.storm()
	s.honest("after")
	if n := s.sum("unsigned"); n < 1000 {
		t.Errorf("%d messages without a code", n)
	}
	for i, d := range s.servers {
		status, err := scollmod.OpStatus.Call(t.Context(), d.Control(), control.None{})
		if err != nil || slices.ContainsFunc(status.Joined, func(g scollmod.JoinedGroup) bool { return g.Root == strangerNID }) {
			t.Errorf("server %d has groups of the stranger, %v", i, err)
		}
	}
	data := filepath.Join(t.TempDir(), "data")
	if err := os.WriteFile(data, make([]byte, 100_000), 0o600); err != nil {
		t.Fatal(err)
	}
	out, err := s.servers[0].Scollctl(t.Context(), "bcast", "--bulk", data, "--action", "hello")
	if err != nil || !strings.Contains(out, "exit code 0: 4 members") {
		t.Errorf("an action with a key: %v\n%s", err, out)
	}
}
