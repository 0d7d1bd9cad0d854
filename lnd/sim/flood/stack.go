package flood

import (
	"ulnet/lnd"
	"ulnet/lnd/sim"
	"ulnet/lnd/sim/scenario/kit"
	"ulnet/lnd/simlnd"
	"ulnet/lnet"
	"ulnet/lnet/machine"
	"ulnet/lnet/nid"
	"ulnet/portals"
)

// portal is the portal of all PUTs. Rumours are their header data.
const portal = 10

// stack is a node above portals and LNet on a simulated host. It drives the machine.
type stack struct {
	host  *simlnd.Host
	table *portals.Table
	node  *node
	out   sim.Output[rumours]
	alarm machine.Alarm    // steps the machine with an empty input
	md    portals.MDHandle // memory descriptor of the messages to send
}

// stacks describes the stacks to the simulation kit.
func (n *network) stacks() kit.Stacks {
	memory := make([]byte, n.cfg.size) // memory of every MD; its content does not matter
	return kit.Stacks{
		OnEvent: n.event,
		Boot:    func(h, kept *simlnd.Host) error { return n.bootStack(memory, h, kept) },
	}
}

// bootStack starts portals and the machine on host h.
func (n *network) bootStack(memory []byte, h, kept *simlnd.Host) error {
	var old *node
	if kept != nil {
		old = kept.Data.(*stack).node
	}
	k := &stack{host: h, node: n.begin(h.Incarnation(), old)}
	k.alarm = machine.Alarm{Clock: h.Clock(), Call: func() { k.step(sim.Input[rumours]{}) }}
	h.Data = k
	under := lnet.New(lnet.Config{Incarnation: h.LNetIncarnation(), Clock: h.Clock()})
	k.table = portals.New(under)
	if _, err := under.AddNI(h.Driver(), lnd.Config{Net: simlnd.Net}); err != nil {
		return err
	}
	if err := k.attach(memory); err != nil {
		return err
	}
	h.OnCommand(func(text string) { k.step(sim.Input[rumours]{Kind: sim.Command, Text: text}) })
	k.step(sim.Input[rumours]{Kind: sim.Start})
	return nil
}

// attach makes the memory descriptors: one to receive, one to send.
func (k *stack) attach(memory []byte) error {
	segments := []lnd.Segment{memory}
	_, _, err := k.table.Post(portal, portals.Match{Ignore: ^uint64(0)}, portals.MD{
		Segments: segments, Threshold: portals.ThresholdInfinite, Handler: k.arrived,
		Options: portals.OpPut | portals.ManageRemote | portals.Truncate,
	}, portals.Retain)
	if err != nil {
		return err
	}
	k.md, err = k.table.MDBind(portals.MD{Segments: segments, Threshold: portals.ThresholdInfinite}, portals.Retain)
	return err
}

// arrived is the handler of PUTs from other nodes.
func (k *stack) arrived(e *portals.Event) {
	if from, ok := simlnd.Node(e.Source.NID); ok && e.Err == nil && e.Kind == portals.EventPut {
		k.step(sim.Input[rumours]{Kind: sim.Message, From: from, Msg: rumours(e.HdrData)})
	}
}

// step steps the machine and carries out its output.
func (k *stack) step(in sim.Input[rumours]) {
	now := k.host.Clock().Now()
	k.out.Reset()
	wake := k.node.Step(now, in, &k.out)
	for _, ev := range k.out.Events {
		k.host.Emit(ev)
	}
	for _, s := range k.out.Sends {
		k.put(s.To, s.Msg)
	}
	k.alarm.Set(now, wake)
}

// put sends rumours to a node. Errors are ignored: an unreachable node is told later, or by
// other nodes.
func (k *stack) put(to sim.NodeID, r rumours) {
	if to == k.host.ID() {
		return
	}
	target := nid.ProcessID{NID: simlnd.NID(to), PID: nid.LustrePID}
	_ = k.table.Put(portals.PutRequest{MD: k.md, Target: target, Portal: portal, HdrData: uint64(r)})
}
