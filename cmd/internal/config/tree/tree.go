package tree

import (
	"encoding/json"
	"io"
	"slices"
)

// Tree is the configuration of a node, and, if it was requested, the state. Sections that are
// nil are absent.
type Tree struct {
	Net     []Net    `json:"net,omitempty"`     // networks, in the order in which they were started
	Route   []Route  `json:"route,omitempty"`   // routes to other networks
	Peer    []Peer   `json:"peer,omitempty"`    // peers that the node knows
	Routing *Routing `json:"routing,omitempty"` // state of the node as a router
	Buffers *Buffers `json:"buffers,omitempty"` // numbers of router buffers
	Global  *Global  `json:"global,omitempty"`  // settings of the node
	UDSP    []UDSP   `json:"udsp,omitempty"`    // selection rules, in their order
}

// Write writes a document to w, each top-level key in the layout in which Lustre's lnetctl
// prints that key. The document is a Tree, or a map, or a struct whose json tags name the keys.
func Write(w io.Writer, doc any) error {
	text, err := json.Marshal(doc)
	if err != nil {
		return err
	}
	return writeJSON(w, text)
}

// DropOurs removes the keys of networks and peers that Lustre's tool does not have. Their values
// are only state, which import ignores.
func (t *Tree) DropOurs() {
	for _, n := range t.Net {
		for i, ni := range n.NIs {
			n.NIs[i] = NI{
				NID: ni.NID, Status: ni.Status, Interfaces: ni.Interfaces, Statistics: ni.Statistics, UDSP: ni.UDSP,
				Sent: ni.Sent, Received: ni.Received, Dropped: ni.Dropped, Health: ni.Health, Tunables: ni.Tunables,
				LND: ni.LND, DevCPT: ni.DevCPT, CPT: ni.CPT, ByAddress: ni.ByAddress, StartedOn: ni.StartedOn,
			}
		}
	}
	for i, p := range t.Peer {
		t.Peer[i].Claimed = nil
		for j := range p.NIs {
			p.NIs[j].Cause = ""
		}
	}
}

// Exported returns the tree that 'lnetctl export' prints: settings for which Lustre's tool has
// no key are in it only if they differ from their usual values.
func (t *Tree) Exported() *Tree {
	e := *t
	e.Global = t.Global.withoutUsual()
	return &e
}

// Backup returns what is necessary to configure a node like this one: without counters and
// states, without the loopback network, which every node has, and without peers of which only a
// NID is known. Like the backup of Lustre's tool, it contains multi-rail peers that were
// discovered, and no key that this tool does not know; see Saved.
func (t *Tree) Backup() *Tree {
	b := &Tree{Buffers: t.Buffers, Global: t.Global.KernelsOwn(), UDSP: t.UDSP}
	for _, n := range t.Net {
		if n.Type != Loopback {
			b.Net = append(b.Net, n.backup())
		}
	}
	for _, r := range t.Route {
		b.Route = append(b.Route, r.backup())
	}
	for _, p := range t.Peer {
		if p.MultiRail || p.IsConfigured() {
			b.Peer = append(b.Peer, p.backup())
		}
	}
	if t.Routing != nil {
		b.Routing = t.Routing.backup()
	}
	return b
}

// Saved is Backup for a node that starts. It leaves out peers that were discovered, because they
// will be discovered again. It contains all settings, even those with their usual values,
// because another file that the node reads before may set other ones.
func (t *Tree) Saved() *Tree {
	own := *t
	own.Peer = slices.DeleteFunc(slices.Clone(t.Peer), func(p Peer) bool { return !p.IsConfigured() })
	b := own.Backup()
	b.Global = t.Global
	if b.Routing == nil {
		b.Routing = &Routing{Enable: new(0)}
	}
	if b.Buffers == nil { // 0 stands for the usual number of buffers
		b.Buffers = &Buffers{Tiny: new(0), Small: new(0), Large: new(0)}
	}
	return b
}
