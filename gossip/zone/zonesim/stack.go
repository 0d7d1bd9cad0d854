package zonesim

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"ulnet/gossip/zone"
	"ulnet/gossip/zone/engine"
	"ulnet/gossip/zone/wire"
	"ulnet/lnd/simlnd"
	"ulnet/lnet/lnetsim"
)

// stack is an agent above portals and LNet on a simulated host.
type stack struct {
	member
	host  *simlnd.Host
	lnet  *lnetsim.Stack
	agent *zone.Agent

	due   bool // the agent is to be compared with the list from its events
	tries int

	latest zone.Status // status of the agent at the time in the field taken
	view   map[int]wire.Version
	taken  time.Duration
}

// bootStack begins an incarnation of a stack. As with machines, a restart keeps nothing but the
// incarnation number.
func (n *Net) bootStack(h, _ *simlnd.Host) (err error) {
	k := &stack{member: member{net: n, id: h.ID(), group: n.group(h.ID())}, host: h, taken: never}
	if k.lnet, err = lnetsim.NewStack(h, lnetsim.StackConfig{}); err != nil {
		return err
	}
	if k.agent, err = zone.New(k.lnet.Table, n.config(h.Incarnation())); err != nil {
		return err
	}
	if n.cfg.Check {
		k.heard.init(&k.member)
	}
	n.incarnations[k.id] = k
	n.faults.start(k.id)
	k.agent.Watch(k.told)
	h.OnCommand(k.command)
	n.incs[k.id]++
	return k.agent.Join(n.incs[k.id])
}

// command carries out a verb of a scenario. A node that has left ignores it.
func (k *stack) command(text string) {
	verb, rest, _ := strings.Cut(text, " ")
	key, value, _ := strings.Cut(rest, " ")
	k.taken = never
	switch verb {
	case "leave":
		k.net.faults.silent(k.id, k.net.incs[k.id])
		code, _ := strconv.Atoi(key)
		_ = k.agent.Leave(int32(code))
	case "set":
		_ = k.agent.Set(key, []byte(value))
	case "rm":
		_ = k.agent.Delete(key)
	case "monitor":
		k.net.faults.watches(k.id)
		_ = k.agent.Set(engine.MonitorKey, nil)
	default:
		if forges(verb) {
			k.net.Failed(fmt.Errorf("zonesim: %s is for machines: run it with --on machines", verb))
		}
	}
}

// told is called by the agent for each event.
func (k *stack) told(e engine.Event) {
	k.net.told(&k.member, &e)
	if k.net.cfg.Check && !k.due {
		k.due, k.tries = true, 0
		k.host.Clock().AfterFunc(time.Microsecond, k.examine)
	}
}

// examine compares the list from events with the agent's view. The agent reports a change a
// moment after it has happened, so only a difference that lasts for some time counts.
func (k *stack) examine() {
	s := k.agent.Status()
	if k.tries++; s.State == "joined" && s.Members != k.heard.count && k.tries < 20 {
		k.host.Clock().AfterFunc(time.Microsecond, k.examine)
		return
	}
	k.due = false
	k.heard.compare(s.State, s.Members)
}

// present returns the status of the agent. It asks the agent at most once at each instant.
func (k *stack) present() *zone.Status {
	if now := k.net.Now(); now != k.taken {
		k.latest, k.taken, k.view = k.agent.Status(), now, nil
	}
	return &k.latest
}

func (k *stack) status() engine.Status               { return k.present().Status }
func (k *stack) census() []engine.CensusEntry        { return k.agent.Census() }
func (k *stack) delegation() engine.DelegationStatus { return k.present().Delegation }

func (k *stack) has(i int) (wire.Version, bool) {
	if k.present(); k.view == nil {
		k.view = make(map[int]wire.Version)
		for _, m := range k.agent.Members() {
			if id, ok := k.net.nodeOf(m.ID); ok {
				k.view[int(id-k.group.first)] = m.Version
			}
		}
	}
	v, ok := k.view[i]
	return v, ok
}

func (k *stack) attributes(i int) []wire.Attribute {
	list, _ := k.agent.Attributes(k.group.ids[i])
	return list
}
