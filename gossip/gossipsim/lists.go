package gossipsim

import (
	"ulnet/gossip/engine"
	"ulnet/lnd/sim"
	"ulnet/lnd/simlnd"
	"ulnet/lnet/nid"
)

// lists has the lists of participants of a run, each only once.
type lists struct {
	nodes  int
	staged []*engine.List // in the order in which they were first staged, the initial list first
	byText map[string]*engine.List
}

func (l *lists) init(nodes, members int) error {
	l.nodes = nodes
	l.byText = make(map[string]*engine.List)
	first, err := l.of(sim.NodeRange(0, sim.NodeID(members-1)))
	if err == nil {
		l.staged = []*engine.List{first}
	}
	return err
}

// of returns the list of a set of nodes.
func (l *lists) of(set sim.NodeSet) (*engine.List, error) {
	text := set.String()
	if list := l.byText[text]; list != nil {
		return list, nil
	}
	var ids []nid.NID
	for id := range set.All(l.nodes + 1) {
		ids = append(ids, simlnd.NID(id))
	}
	list, err := engine.NewList(ids)
	if err == nil {
		l.byText[text] = list
	}
	return list, err
}

// parse returns the list of the nodes that a text names, and records that it is staged.
func (l *lists) parse(text string) (*engine.List, error) {
	set, err := sim.ParseNodes(text, l.nodes)
	if err != nil {
		return nil, err
	}
	list, err := l.of(set)
	if err == nil && l.staged[len(l.staged)-1] != list {
		l.staged = append(l.staged, list)
	}
	return list, err
}

// start returns the list that a node begins with: the latest list that contains the node or, if
// none does, the first list with the node added.
func (l *lists) start(id sim.NodeID) (*engine.List, error) {
	for i := len(l.staged) - 1; i >= 0; i-- {
		if l.staged[i].Index(simlnd.NID(id)) >= 0 {
			return l.staged[i], nil
		}
	}
	return l.with(id)
}

// with returns a list that has the nodes of the first list and the given node.
func (l *lists) with(id sim.NodeID) (*engine.List, error) {
	nodes := []sim.NodeID{id}
	for i := range l.staged[0].Len() {
		k, _ := simlnd.Node(l.staged[0].NID(i))
		nodes = append(nodes, k)
	}
	return l.of(sim.Nodes(nodes...))
}
