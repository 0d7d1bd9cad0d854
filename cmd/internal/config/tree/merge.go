package tree

import "slices"

// Merge adds the items of a file to the tree, as importing the file adds them to a node that starts. NIs
// and settings of the file replace those of the tree, and a rule that the tree already has gets the priority of the
// file. A route or a peer that the tree already has stays as it is, but such a peer gets the further NIDs that the
// file has for it.
func (t *Tree) Merge(f *File) {
	t.Peer, t.Net, t.UDSP = slices.Clone(t.Peer), slices.Clone(t.Net), slices.Clone(t.UDSP) // copied, because a configuration may share these slices
	for i := range t.Net {
		t.Net[i].NIs = slices.Clone(t.Net[i].NIs)
	}
	for _, s := range f.Sections {
		for _, i := range s.Items {
			t.merge(i)
		}
	}
}

// WithoutSettings returns the file without settings and numbers of router buffers. Networks, routes, peers
// and rules remain, and whether the node is a router.
func (f *File) WithoutSettings() *File {
	rest := &File{Sections: slices.Clone(f.Sections), Warnings: f.Warnings}
	for i := range rest.Sections {
		s := &rest.Sections[i]
		s.Items = slices.DeleteFunc(slices.Clone(s.Items), func(i Item) bool { return i.Setting != nil || i.Buffers != nil })
	}
	return rest
}

func (t *Tree) merge(i Item) {
	switch {
	case i.Net != nil:
		for _, ni := range i.Net.NIs {
			t.mergeNI(i.Net.Type, ni)
		}
	case i.Route != nil:
		if !slices.ContainsFunc(t.Route, i.Route.Same) {
			t.Route = append(t.Route, *i.Route)
		}
	case i.Peer != nil && i.Peer.IsConfigured():
		t.mergePeer(i.Peer)
	case i.UDSP != nil:
		t.mergeRule(i.UDSP)
	case i.Setting != nil:
		if t.Global == nil {
			t.Global = new(Global)
		}
		t.Global.Set(*i.Setting)
	case i.Buffers != nil:
		t.Buffers = i.Buffers
	case i.Routing != nil && i.Routing.Enable != nil:
		t.Routing = &Routing{Enable: i.Routing.Enable}
	}
}

// mergeNI adds an NI of a network. It replaces an NI of that network on the same interface or address.
func (t *Tree) mergeNI(net string, ni NI) {
	if net == Loopback {
		return
	}
	on, err := ni.On(net)
	for _, n := range t.Net {
		for i := range n.NIs {
			if has, bad := n.NIs[i].On(n.Type); err == nil && bad == nil && has == on {
				n.NIs[i] = ni
				return
			}
		}
	}
	t.Net = append(t.Net, Net{Type: net, NIs: []NI{ni}})
}

func (t *Tree) mergeRule(u *UDSP) {
	switch at := slices.IndexFunc(t.UDSP, u.Same); {
	case at < 0:
		t.UDSP = append(t.UDSP, *u)
	case priority(t.UDSP[at]) != priority(*u):
		t.UDSP[at].Action = &UDSPAction{priority(*u)}
	}
}

func (t *Tree) mergePeer(p *Peer) {
	for i := range t.Peer {
		has := &t.Peer[i]
		if has.Primary != p.Primary {
			continue
		}
		has.NIs = slices.Clone(has.NIs)
		for _, ni := range p.NIs {
			if !slices.ContainsFunc(has.NIs, func(h PeerNI) bool { return h.NID == ni.NID }) {
				has.NIs = append(has.NIs, ni)
			}
		}
		return
	}
	t.Peer = append(t.Peer, *p)
}

// Same reports whether two routes lead to the same network by the same gateway.
func (r Route) Same(o Route) bool { return r.Net == o.Net && r.Gateway == o.Gateway }

// Same reports whether two rules have the same patterns.
func (u UDSP) Same(o UDSP) bool {
	return samePattern(u.Src, o.Src) && samePattern(u.Dst, o.Dst) && samePattern(u.Rte, o.Rte)
}

// RunsOn returns the NI of a running node that an NI of a configuration describes, nil if there is
// none. An NI without an interface describes the first one of its network.
func (t *Tree) RunsOn(net string, ni NI) *NI {
	if ni.NID.IsValid() || len(ni.Interfaces) > 0 {
		return t.ni(net, ni)
	}
	for _, n := range t.Net {
		if n.Type == net && len(n.NIs) > 0 {
			return &n.NIs[0]
		}
	}
	return nil
}
