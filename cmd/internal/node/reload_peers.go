package node

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"syscall"

	"ulnet/cmd/internal/config/tree"
	"ulnet/lnet/nid"
	"ulnet/lnet/udsp"
)

// peers changes the configured peers.
func (r *reload) peers() {
	find := func(list []tree.Peer, id nid.NID) *tree.Peer {
		i := slices.IndexFunc(list, func(p tree.Peer) bool { return p.Primary == id && p.IsConfigured() })
		if i < 0 {
			return nil
		}
		return &list[i]
	}
	for _, p := range r.was.Peer {
		switch now := find(r.will.Peer, p.Primary); {
		case !p.IsConfigured():
		case now == nil:
			r.add("peer", fmt.Sprintf("remove peer %v", p.Primary), r.replacePeer(&p, nil))
		case !samePeer(p, *now):
			r.add("peer", fmt.Sprintf("change peer %v", p.Primary), r.replacePeer(&p, now))
		}
	}
	for _, p := range r.will.Peer {
		if p.IsConfigured() && find(r.was.Peer, p.Primary) == nil {
			r.add("peer", fmt.Sprintf("add peer %v", p.Primary), r.replacePeer(nil, &p))
		}
	}
}

// samePeer reports whether two peers with one primary NID have the same NIDs.
func samePeer(a, b tree.Peer) bool {
	in := func(list []nid.NID) func(nid.NID) bool {
		return func(id nid.NID) bool { return slices.Contains(list, id) }
	}
	not := func(f func(nid.NID) bool) func(nid.NID) bool { return func(id nid.NID) bool { return !f(id) } }
	x, y := nidsOf(a), nidsOf(b)
	return a.MultiRail == b.MultiRail && !slices.ContainsFunc(x, not(in(y))) && !slices.ContainsFunc(y, not(in(x)))
}

// replacePeer replaces the configured peer old by next, which has the same primary NID. If old is nil, a peer
// is added; if next is nil, the peer is removed.
func (r *reload) replacePeer(old, next *tree.Peer) func(context.Context) (func(context.Context) error, error) {
	set := func(from, to *tree.Peer) error {
		if from != nil {
			if err := r.n.RemovePeer(RemovePeerRequest{Primary: from.Primary}); err != nil && !errors.Is(err, syscall.ENOENT) {
				return err
			}
		}
		if to == nil {
			return nil
		}
		return r.n.AddPeer(addPeerRequest(*to))
	}
	return func(context.Context) (func(context.Context) error, error) {
		back := func(context.Context) error { return set(next, old) }
		err := set(old, next)
		if err != nil && old != nil {
			err = errors.Join(err, notTakenBack(fmt.Sprintf("remove peer %v", old.Primary), set(nil, old)))
		}
		return back, err
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
