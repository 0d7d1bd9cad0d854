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

// replacePeer replaces one configured peer by another one with the same primary NID; nil: none.
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
			err = errors.Join(err, set(nil, old))
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
		var before udsp.List
		err := r.n.changeUDSP(func(l udsp.List) (udsp.List, error) {
			before = l
			return replaceRules(l, r.was.UDSP, r.will.UDSP)
		})
		back := func(udsp.List) (udsp.List, error) { return before, nil }
		return func(context.Context) error { return r.n.changeUDSP(back) }, err
	})
}

func replaceRules(l udsp.List, old, next []tree.UDSP) (udsp.List, error) {
	for _, u := range old {
		v, err := u.Value()
		i := slices.IndexFunc(l.Rules(), func(h udsp.Rule) bool { return h.Src.Equal(v.Src) && h.Dst.Equal(v.Dst) && h.Rte.Equal(v.Rte) })
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
