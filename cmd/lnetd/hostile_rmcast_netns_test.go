//go:build linux

package main_test

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"ulnet/cmd/internal/control"
	rmcastmod "ulnet/cmd/internal/modules/rmcast"
	"ulnet/cmd/internal/node"
	"ulnet/cmd/lnetd/internal/lnetdtest"
	"ulnet/lnd/lndtest/netlab"
	"ulnet/lnd/lndtest/spec"
	"ulnet/lnet/nid"
	"ulnet/scoll/rmcast"
	"ulnet/scoll/rmcast/engine"
	"ulnet/scoll/rmcast/wire"
)

// The groups of a mcastSiege: one with a list of members, and one that every node can join.
const (
	closedGroup rmcast.GroupID = 9
	openGroup   rmcast.GroupID = 10
)

// mcastSiege has an attacker's node, which is a member of no group, and three nodes that are members of
// both groups. The first of the three also manages both groups.
type mcastSiege struct {
	t        *testing.T
	configs  []lnetdtest.Config
	daemons  []*lnetdtest.Daemon
	commands lnetdtest.Commands
	attacker *lnetdtest.Daemon
	rounds   int
}

// besiegeWithin bounds the time until messages reach all members after an attack: a member waits
// for some time before it drops a false epoch, and after that the group has to form again.
const besiegeWithin = 20 * time.Second

// TestHostileMulticast: RM-A9: a node with an ordinary connection sends orders, reports,
// requests to join, acknowledgements and datagrams, with epochs, incarnations and versions up
// to the highest numbers. Then the nodes are restarted. Multicasts work again within one
// timeout and without another restart, and refusals are logged.
func TestHostileMulticast(t *testing.T) {
	spec.Covers(t, "RM-A9")
	if os.Getenv("ULNET_LONG") == "" {
		t.Skip("restarts daemons in namespaces; set ULNET_LONG=1")
	}
	t.Run("list", func(t *testing.T) { besiegeMulticast(t, "") })
	t.Run("key", func(t *testing.T) {
		file := filepath.Join(t.TempDir(), "key")
		if err := os.WriteFile(file, []byte(strings.Repeat("key ", 8)), 0o600); err != nil {
			t.Fatal(err)
		}
		besiegeMulticast(t, file)
	})
}

func besiegeMulticast(t *testing.T, keyFile string) {
	s := newMcastSiege(t, keyFile)
	s.honest("the start")
	s.attack()
	s.honest("the attack")
	for i := range s.daemons {
		s.restart(i)
		s.honest(fmt.Sprintf("the restart of member %d", i))
	}
	if keyFile != "" {
		s.notSigned()
		return
	}
	s.complaints()
}

// newMcastSiege starts the nodes, with a key that the attacker does not have; "": without a key.
func newMcastSiege(t *testing.T, keyFile string) *mcastSiege {
	t.Helper()
	lab := netlab.New(t)
	s := &mcastSiege{t: t, commands: lnetdtest.Build(t)}
	first := "  max_members: 100"
	if keyFile != "" {
		first = "  key_file: " + keyFile
	}
	on := lab.Switch("switch")
	for i := range 4 {
		h := lab.Host(fmt.Sprintf("node %d", i))
		lab.Cable(h, fmt.Sprintf("10.4.0.%d/24", i+1), on, "")
		cfg := lnetdtest.Config{Networks: "tcp(eth0)", Port: kernelPort, Within: h.Do, StateDir: t.TempDir()}
		if i == 3 {
			s.attacker = s.commands.Start(t, cfg)
			break
		}
		cfg.Settings = []string{
			"rmcast:", "  enable: 1", first, "  groups:",
			"    closed:", "      number: 9", "      managers: [10.4.0.1@tcp]", "      members: ['10.4.0.[1-3]@tcp']",
			"    open:", "      number: 10", "      managers: [10.4.0.1@tcp]",
		}
		s.configs = append(s.configs, cfg)
		s.daemons = append(s.daemons, s.commands.Start(t, cfg))
	}
	return s
}

// restart restarts a daemon in its next incarnation.
func (s *mcastSiege) restart(i int) {
	s.t.Helper()
	s.daemons[i].Kill()
	s.daemons[i] = s.commands.Start(s.t, s.configs[i])
}

// put sends a message from the attacker to a portal of a node.
func (s *mcastSiege) put(to, portal int, b []byte) {
	s.t.Helper()
	target := nid.ProcessID{NID: nid.MustParse(fmt.Sprintf("10.4.0.%d@tcp", to+1)), PID: nid.LustrePID}
	ctx, cancel := context.WithTimeout(s.t.Context(), 60*time.Second)
	defer cancel()
	_ = node.OpPut.CallWith(ctx, s.attacker.Control(), node.PutRequest{Target: target, Portal: portal}, bytes.NewReader(b), func(node.Step) error { return nil })
}

// attack sends all hostile messages, in the attacker's own name, to all nodes.
func (s *mcastSiege) attack() {
	s.t.Helper()
	now := uint64(time.Now().UnixNano())
	day := uint64(engine.EpochSlack)
	for _, e := range []uint64{now + day/2, now + day - uint64(time.Minute), now + 2*day, 1<<62 - 1, 1 << 62, 1 << 63, 1<<64 - 1} {
		v := rmcast.Version{Epoch: e, Counter: 1}
		for to := range s.daemons {
			for _, group := range []rmcast.GroupID{closedGroup, openGroup} {
				for kind := wire.OrderJoin; kind <= wire.OrderRefused; kind++ {
					if kind == wire.OrderJoin && group == openGroup {
						continue // left out, because the attacker would become a member that never acknowledges anything
					}
					for _, incarnation := range []uint64{0, e} {
						o := wire.Order{Kind: kind, Group: group, Epoch: e, Version: v, Usable: v, Oldest: v, Incarnation: incarnation, MTU: 1400, Window: 1, Next: 2}
						o.Members = []rmcast.Member{{ID: rmcast.ID{NID: nid.MustParse("10.4.0.2@tcp"), Incarnation: e}, Number: 1<<32 - 1}}
						s.put(to, wire.ManagerPortal, o.AppendTo(nil))
					}
				}
				entry := wire.Entry{Kind: wire.Expelled, Origin: 1, Version: v, First: 1 << 62, Stable: 1 << 62}
				s.put(to, wire.ControlPortal, wire.AppendControl(nil, group, v, []wire.Entry{entry}))
				d := wire.Datagram{Group: group, Version: v, Origin: 1, Length: 4, Seq: 1 << 62, Count: 1, Size: 4, Stable: 1 << 62, First: 1 << 62}
				s.put(to, wire.DataPortal, append(d.AppendTo(nil), "evil"...))
			}
		}
	}
}

// honest makes each member send to both groups, and checks that all members get each message
// once.
func (s *mcastSiege) honest(after string) {
	s.t.Helper()
	s.rounds++
	ctx, cancel := context.WithTimeout(s.t.Context(), besiegeWithin)
	defer cancel()
	for _, group := range []string{"closed", "open"} {
		for i, d := range s.daemons {
			d.Until(besiegeWithin, fmt.Sprintf("after %s all members of %s at member %d", after, group, i), func() bool {
				st, err := rmcastmod.OpStatus.Call(ctx, d.Control(), control.None{})
				for k := range st.Groups {
					if g := &st.Groups[k]; err == nil && g.Name == group {
						return len(g.Members) == len(s.daemons) && g.Usable == g.Version && g.Sending == g.Version
					}
				}
				return false
			})
		}
		s.exchange(ctx, after, group)
	}
}

func (s *mcastSiege) exchange(ctx context.Context, after, group string) {
	s.t.Helper()
	var listening, ready sync.WaitGroup
	got := make([][]string, len(s.daemons))
	for i, d := range s.daemons {
		ready.Add(1)
		listening.Go(func() {
			once := sync.OnceFunc(ready.Done)
			defer once()
			err := rmcastmod.OpReceive.Call(ctx, d.Control(), rmcastmod.ReceiveRequest{Group: group, Count: len(s.daemons)}, func(step rmcastmod.Step) error {
				if step.Ready {
					once()
				}
				data := step.Payload
				for k := range step.Mcast {
					if h := &step.Mcast[k]; h.Event == "" {
						got[i] = append(got[i], string(data[:h.Length]))
						data = data[h.Length:]
					}
				}
				return nil
			})
			if err != nil {
				s.t.Errorf("after %s member %d of %s: %v", after, i, group, err)
			}
		})
	}
	ready.Wait()
	for i, d := range s.daemons {
		text := fmt.Sprintf("round %d of %d", s.rounds, i)
		sent, err := rmcastmod.OpSend.CallWith(ctx, d.Control(), rmcastmod.SendRequest{Group: group, Wait: true}, strings.NewReader(text))
		if err != nil || sent.Messages != 1 || len(sent.Failed) > 0 {
			s.t.Errorf("after %s member %d sends to %s: %+v, %v", after, i, group, sent, err)
		}
	}
	listening.Wait()
	for i := range s.daemons {
		for k := range s.daemons {
			text, n := fmt.Sprintf("round %d of %d", s.rounds, k), 0
			for _, g := range got[i] {
				if g == text {
					n++
				}
			}
			if n != 1 {
				s.t.Errorf("after %s member %d of %s got %q %d times, in all %q", after, i, group, text, n, got[i])
			}
		}
	}
}

// notSigned checks that the members drop the attacker's messages because these are not signed.
func (s *mcastSiege) notSigned() {
	s.t.Helper()
	o := wire.Order{Kind: wire.OrderJoin, Group: openGroup, Incarnation: uint64(time.Now().UnixNano())}
	s.put(0, wire.ManagerPortal, o.AppendTo(nil))
	manager := s.daemons[0]
	manager.Until(seenWithin, "messages that are not signed", func() bool {
		st, err := rmcastmod.OpStatus.Call(s.t.Context(), manager.Control(), control.None{})
		return err == nil && st.NotSigned > 0 && st.Verified[0] > 0 && st.Keys == 1 &&
			strings.Contains(manager.Log(), "messages are not signed with the key of this node")
	})
	if log := manager.Log(); strings.Contains(log, "every node can join") {
		s.t.Errorf("the log of the manager warns of an open group:\n%s", log)
	}
	s.honest("an unsigned request to join")
}

// complaints checks the log lines and counters about refused messages.
func (s *mcastSiege) complaints() {
	s.t.Helper()
	o := wire.Order{Kind: wire.OrderJoin, Group: closedGroup, Incarnation: uint64(time.Now().UnixNano())}
	s.put(0, wire.ManagerPortal, o.AppendTo(nil))
	manager := s.daemons[0]
	manager.Until(seenWithin, "strangers at the manager", func() bool {
		st, err := rmcastmod.OpStatus.Call(s.t.Context(), manager.Control(), control.None{})
		return err == nil && st.Groups[0].Managing != nil && st.Groups[0].Managing.Stats["stranger"] > 0 &&
			strings.Contains(manager.Log(), "not on the list of those that may be members")
	})
	if log := manager.Log(); !strings.Contains(log, "every node can join this multicast group") {
		s.t.Errorf("the log of the manager warns of no open group:\n%s", log)
	}
}
