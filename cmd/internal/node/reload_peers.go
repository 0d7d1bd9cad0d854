package node

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"syscall"

	"ulnet/cmd/internal/config/tree"
	"ulnet/lnet"
	"ulnet/lnet/nid"
	"ulnet/lnet/udsp"
)

// peers changes the configured peers. A NID may move from one configured peer to another. It cannot be added to
// its new peer while the old one has it, so all removals of NIDs come before the additions.
func (r *reload) peers() {
	for _, p := range r.was.Peer {
		switch now := configured(r.will.Peer, p.Primary); {
		case !p.IsConfigured():
		case now == nil:
			r.add("peer", fmt.Sprintf("remove peer %v", p.Primary), r.removePeer(p.Primary))
		case p.MultiRail && !now.MultiRail || len(beyond(idsOf(p), idsOf(*now))) > 0:
			r.add("peer", fmt.Sprintf("remove NIDs of peer %v", p.Primary), r.removePeerNIDs(p, *now))
		}
	}
	for _, p := range r.will.Peer {
		switch was := configured(r.was.Peer, p.Primary); {
		case !p.IsConfigured():
		case was == nil:
			r.add("peer", fmt.Sprintf("add peer %v", p.Primary), r.addPeer(p))
		case was.MultiRail != p.MultiRail || len(beyond(idsOf(p), idsOf(*was))) > 0:
			r.add("peer", fmt.Sprintf("change peer %v", p.Primary), r.addPeer(p))
		}
	}
}

// configured returns the configured peer of a list with a primary NID, nil if there is none.
func configured(list []tree.Peer, primary nid.NID) *tree.Peer {
	i := slices.IndexFunc(list, func(p tree.Peer) bool { return p.Primary == primary && p.IsConfigured() })
	if i < 0 {
		return nil
	}
	return &list[i]
}

// idsOf lists the NIDs of a peer, the primary one first.
func idsOf(p tree.Peer) []nid.NID { return append([]nid.NID{p.Primary}, nidsOf(p)...) }

// beyond returns the NIDs of list that are not in the list in.
func beyond(list, in []nid.NID) []nid.NID {
	return slices.DeleteFunc(slices.Clone(list), func(id nid.NID) bool { return slices.Contains(in, id) })
}

// configuredPeer returns the NIDs of the configured peer with a primary NID, the primary one first, and whether
// it is multi-rail. Without such a peer it returns no NIDs.
func (n *Node) configuredPeer(primary nid.NID) (ids []nid.NID, multiRail bool) {
	p := n.lnet.Peer(primary)
	if p.Primary != primary || !p.Flags.Has(lnet.PeerConfigured) {
		return nil, false
	}
	for _, ni := range p.NIs {
		ids = append(ids, ni.NID)
	}
	return ids, p.Flags.Has(lnet.PeerMultiRail)
}

// removePeer returns the function of a step that removes a configured peer. If a command has removed it
// already, there is nothing to change.
func (r *reload) removePeer(primary nid.NID) func(context.Context) (func(context.Context) error, error) {
	return func(context.Context) (func(context.Context) error, error) {
		has, _ := r.n.configuredPeer(primary)
		return r.takeNIDs(primary, has)
	}
}

// removePeerNIDs returns the function of a step that takes from a configured peer the NIDs that only the old
// configuration has. From a peer that is no longer multi-rail, it takes all NIDs that are not in the new
// one, also those that a command has added.
func (r *reload) removePeerNIDs(old, next tree.Peer) func(context.Context) (func(context.Context) error, error) {
	return func(context.Context) (func(context.Context) error, error) {
		has, _ := r.n.configuredPeer(old.Primary)
		leaving := beyond(has, idsOf(next))
		if next.MultiRail {
			leaving = slices.DeleteFunc(leaving, func(id nid.NID) bool { return !slices.Contains(idsOf(old), id) })
		}
		return r.takeNIDs(old.Primary, leaving)
	}
}

// takeNIDs takes NIDs from a configured peer, and returns the function that gives them back. With the primary NID,
// it removes the peer.
func (r *reload) takeNIDs(primary nid.NID, ids []nid.NID) (func(context.Context) error, error) {
	if len(ids) == 0 {
		return nil, nil
	}
	_, multiRail := r.n.configuredPeer(primary)
	err := r.n.RemovePeer(RemovePeerRequest{Primary: primary, NIDs: ids})
	if errors.Is(err, syscall.ENOENT) { // a command has removed one of them meanwhile
		return nil, nil
	}
	return func(context.Context) error {
		return r.n.AddPeer(AddPeerRequest{Primary: primary, NIDs: beyond(ids, []nid.NID{primary}), NonMR: !multiRail})
	}, err
}

// addPeer returns the function of a step that adds a peer, or the NIDs that a configured peer lacks.
func (r *reload) addPeer(p tree.Peer) func(context.Context) (func(context.Context) error, error) {
	return func(context.Context) (func(context.Context) error, error) {
		had, multiRail := r.n.configuredPeer(p.Primary)
		back := func(context.Context) error {
			added := beyond(idsOf(p), had)
			now, _ := r.n.configuredPeer(p.Primary)
			_, err := r.takeNIDs(p.Primary, slices.DeleteFunc(added, func(id nid.NID) bool { return !slices.Contains(now, id) }))
			if err != nil || len(had) == 0 || multiRail == p.MultiRail {
				return err
			}
			return r.n.AddPeer(AddPeerRequest{Primary: p.Primary, NonMR: !multiRail})
		}
		return back, r.n.AddPeer(addPeerRequest(p))
	}
}

// rules replaces the selection rules of the old configuration by those of the new one, all at once.
// Rules that commands have added come after them.
func (r *reload) rules() {
	if slices.Equal(ruleTexts(r.was), ruleTexts(r.will)) {
		return
	}
	r.add("udsp", "selection rules", func(context.Context) (func(context.Context) error, error) {
		var before, after udsp.List
		err := r.n.changeUDSP(func(l udsp.List) (_ udsp.List, err error) {
			before = l
			after, err = replaceRules(l, r.was.UDSP, r.will.UDSP)
			return after, err
		})
		back := func(l udsp.List) (udsp.List, error) {
			if !slices.EqualFunc(l.Rules(), after.Rules(), sameRule) { // a command has changed the rules meanwhile
				return replaceRules(l, r.will.UDSP, r.was.UDSP)
			}
			return before, nil
		}
		return func(context.Context) error { return r.n.changeUDSP(back) }, err
	})
}

// sameRule reports whether two rules do the same to the same messages.
func sameRule(a, b udsp.Rule) bool { return samePatterns(a, b) && a.Priority == b.Priority }

func samePatterns(a, b udsp.Rule) bool {
	return a.Src.Equal(b.Src) && a.Dst.Equal(b.Dst) && a.Rte.Equal(b.Rte)
}

func replaceRules(l udsp.List, old, next []tree.UDSP) (udsp.List, error) {
	for _, u := range old {
		v, err := u.Value()
		i := slices.IndexFunc(l.Rules(), func(h udsp.Rule) bool { return samePatterns(h, v) })
		if err != nil || i < 0 {
			continue
		}
		if l, err = l.Remove(i); err != nil {
			return l, err
		}
	}
	for i, u := range next {
		v, err := u.Value()
		if err == nil {
			l, err = l.Add(v, i)
		}
		if err != nil && !errors.Is(err, syscall.EALREADY) {
			return l, err
		}
	}
	return l, nil
}
