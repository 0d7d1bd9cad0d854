//go:build linux

package main_test

import (
	"net/netip"
	"os"
	"path/filepath"
	"testing"

	healthmod "ulnet/cmd/internal/modules/health"
	"ulnet/cmd/lnetd/internal/lnetdtest"
	healthwire "ulnet/health/wire"
	"ulnet/lnd/lndtest/spec"
	"ulnet/lnet/nid"
	"ulnet/lnet/wire"
	"ulnet/portals/keyring"
)

const (
	healthThief    = "127.0.0.166" // address of an attacker who has the key
	healthStranger = "127.0.0.167" // address of an attacker who has no key
	clinicKey      = "correct-horse-battery-staple"
)

// steal sends a connect to each server with the id of a client and a later incarnation, from
// another address. If ring is not nil, the connect is signed.
func (c *clinic) steal(victim healthmod.ClientRole, addr string, ring *keyring.Ring) {
	c.t.Helper()
	id := nid.ProcessID{NID: nid.MustParse(addr + "@tcp"), PID: nid.LustrePID}
	for i := range clinicServers {
		p := lnetdtest.NewPeer(c.t, id, id.NID.Addr(), netip.AddrPortFrom(netip.MustParseAddr(clinicAddr(i)), c.port))
		m := healthwire.Message{
			Kind: healthwire.Connect, Client: victim.Client, Incarnation: victim.Incarnation + 1, Sequence: 1, Epoch: 1, Server: victim.Master,
		}
		payload := m.AppendTo(nil)
		if ring.On() {
			m.Proof = make([]byte, keyring.CodeSize)
			payload = m.AppendTo(nil)
			to := keyring.Between(id.NID, nid.MustParse(clinicAddr(i)+"@tcp")).Number(uint64(id.PID))
			payload = ring.Append(payload[:len(payload)-keyring.CodeSize], 0, to)
		}
		h := p.Header()
		h.SetPut(wire.PutCmd{AckMD: wire.NoHandle(), MatchBits: healthwire.Bits, Portal: healthwire.ServerPortal})
		h.PayloadLength = uint32(len(payload))
		if _, err := p.ConnectAll()[0].Write(p.Message(lnetHeader, h, payload)); err != nil {
			c.t.Fatal(err)
		}
	}
}

// TestHostileHealth: CH-A1: a stranger sends one connect to every server, with the id of a
// client and a later incarnation. The client is not evicted. If the stranger does not have the
// key of the cluster, the servers refuse it at once. If it has the key, they ask the client
// first, and then refuse the stranger. The client keeps its incarnation and its connections.
func TestHostileHealth(t *testing.T) {
	spec.Covers(t, "CH-A1")
	if testing.Short() {
		t.Skip("starts five daemons one after the other; skipped by -short")
	}
	file := filepath.Join(t.TempDir(), "key")
	if err := os.WriteFile(file, []byte(clinicKey), 0o600); err != nil {
		t.Fatal(err)
	}
	keys, err := keyring.Parse([]byte(clinicKey))
	if err != nil {
		t.Fatal(err)
	}
	c := newClinic(t, file)
	victim := c.awaitHeld(3, 0, 1, 2)
	count := func(i int, name string) uint64 { return c.status(i).Server.Stats[name] }
	waits := func(i int) uint64 { return count(i, "refuted") + count(i, "rejected_busy") }
	var begin [clinicServers]uint64 // by server: number of such answers before the attack, because a server that starts may have told clients to try again later
	for i := range begin {
		begin[i] = waits(i)
	}
	c.steal(victim, healthStranger, nil)
	for i, d := range c.daemons[:clinicServers] {
		d.Until(heldWithin, "a refusal of the stranger without the key", func() bool { return count(i, "rejected_other_key") == 1 })
		if asks := waits(i) - begin[i]; asks != 0 {
			t.Errorf("server %d let a stranger without the key wait: %d", i, asks)
		}
	}
	c.steal(victim, healthThief, keys.Ring("health"))
	for i, d := range c.daemons[:clinicServers] {
		d.Until(heldWithin, "a refusal of the stranger", func() bool { return count(i, "refuted") == 1 && count(i, "rejected_foreign") == 1 })
	}
	for i, d := range c.daemons[:clinicServers] {
		if c.status(i).Server.Self != victim.Master {
			continue
		}
		const longer = 32 // number of pings that the client sends in twice the time T_evict, after which its master would have evicted it if it were silent
		before := count(i, "pings")
		d.Until(heldWithin, "pings of those that are there", func() bool { return count(i, "pings") >= before+longer })
	}
	now := c.awaitHeld(3, 0, 1, 2)
	if now.Incarnation != victim.Incarnation || now.Master != victim.Master || now.Stats["evictions"] != 0 || now.Superseded != nil {
		t.Errorf("the victim was %+v and is %+v", victim, now)
	}
	for i := range clinicServers {
		if info, _ := c.held(i, victim.Client); info.Peer.NID.String() != clinicAddr(3)+"@tcp" {
			t.Errorf("server %d has it at %v", i, info.Peer)
		}
	}
}
