package tree

import (
	"encoding/json"
	"io"
	"slices"
	"syscall"
)

// Tree is the configuration of a node, with its state where that was asked for. Sections that are
// nil are absent.
type Tree struct {
	Net     []Net    `json:"net,omitempty"`     // networks, in the order in which they were started
	Route   []Route  `json:"route,omitempty"`   // routes to other networks
	Peer    []Peer   `json:"peer,omitempty"`    // peers that the node knows
	Routing *Routing `json:"routing,omitempty"` // state of the node as a router
	Buffers *Buffers `json:"buffers,omitempty"` // numbers of router buffers
	Global  *Global  `json:"global,omitempty"`  // settings of the node
	UDSP    []UDSP   `json:"udsp,omitempty"`    // selection rules, in their order

	unknown *unknownKey // first key that Read ignored
}

// Write writes a document to w: each top level key in the layout in which Lustre's lnetctl prints
// it. doc is a Tree, or a struct or map whose json tags name the keys.
func Write(w io.Writer, doc any) error {
	text, err := json.Marshal(doc)
	if err != nil {
		return err
	}
	return writeJSON(w, text)
}

// DropOurs removes the keys of networks and peers that Lustre's tool does not have. They hold
// only state, which import does not read.
func (t *Tree) DropOurs() {
	for _, n := range t.Net {
		for i, ni := range n.NIs {
			n.NIs[i] = NI{
				NID: ni.NID, Status: ni.Status, Interfaces: ni.Interfaces, Statistics: ni.Statistics, UDSP: ni.UDSP,
				Sent: ni.Sent, Received: ni.Received, Dropped: ni.Dropped, Health: ni.Health, Tunables: ni.Tunables,
				LND: ni.LND, DevCPT: ni.DevCPT, CPT: ni.CPT, ByAddress: ni.ByAddress,
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

// Exported returns the tree as 'lnetctl export' prints it: of the settings for which Lustre's tool has no
// key it has those that are not as usual.
func (t *Tree) Exported() *Tree {
	e := *t
	e.Global = t.Global.withoutUsual()
	return &e
}

// Backup returns what is necessary to configure a node like this one: without counters and
// states, without the loopback network, which every node has, and without peers of which only a NID
// is known. As with Lustre's tool it has multi-rail peers that were discovered, and it has no key
// that this tool does not know; see Saved.
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
		if p.MultiRail || p.isConfigured() {
			b.Peer = append(b.Peer, p.backup())
		}
	}
	if t.Routing != nil {
		b.Routing = t.Routing.backup()
	}
	return b
}

// Saved is Backup for a node that starts: it has no peers that were discovered, which are discovered
// again, and it says all that can be set, also where that is as usual, because another file that the
// node reads before may say otherwise.
func (t *Tree) Saved() *Tree {
	own := *t
	own.Peer = slices.DeleteFunc(slices.Clone(t.Peer), func(p Peer) bool { return !p.isConfigured() })
	b := own.Backup()
	b.Global = t.Global
	if b.Routing == nil {
		b.Routing = &Routing{Enable: new(0)}
	}
	if b.Buffers == nil { // 0 stands for the usual number
		b.Buffers = &Buffers{Tiny: new(0), Small: new(0), Large: new(0)}
	}
	return b
}

// unknownKey is a key of a file that has no meaning.
type unknownKey struct {
	name string
	line int
}

func (k *unknownKey) err() *Error { return inFile(k.line, syscall.EINVAL, "unknown key %q", k.name) }

// Strict reports the first key of the file that has no meaning. It is for files of the daemon,
// where a key that is written wrong must not pass unnoticed.
func (t *Tree) Strict() error {
	if k := t.unknown; k != nil {
		return k.err()
	}
	return nil
}
