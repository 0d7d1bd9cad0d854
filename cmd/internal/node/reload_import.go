package node

import (
	"context"
	"errors"
	"math/rand/v2"
	"slices"
	"syscall"

	"ulnet/cmd/internal/cli"
	"ulnet/cmd/internal/config/tree"
	"ulnet/lnet/nid"
	"ulnet/lnet/route"
)

// checkImport returns an error if the file LNetConf of the new configuration cannot be applied when LNet is configured
// again, because of its networks, its routes or what an import does not take. The error is that of the import. The NIDs
// others are those of NIs that commands have started and that neither configuration has.
func (r *reload) checkImport(others []nid.NID) error {
	if r.to.Imported == nil {
		return nil
	}
	own := *r.to
	own.Imported = nil
	before, err := wantedTree(&own)
	if err != nil {
		return err
	}
	t := &trial{nids: r.n.lookUpNIDs(), others: others}
	t.now.own, t.next.own = slices.Clone(others), slices.Clone(others)
	for _, c := range configuredNIs(before) {
		t.start(c)
	}
	if applied := tree.Apply(context.Background(), t, tree.AddMissing, r.to.Imported); len(applied.Errs) > 0 {
		return cli.Hint(importError(r.to.LNetConf, applied.Errs), "mend the file and run 'lnetctl reload' again")
	}
	return nil
}

// trial is a tree.Target that tries the networks and routes of a file, without changing the node. It takes all else.
// LNet may be configured with large NIDs now, and without them at the next start: a route needs to fit one of both.
type trial struct {
	tree.Target
	nids      *nidLookup
	others    []nid.NID // NIDs of NIs that only commands have started
	now, next nidSet    // NIDs as they are now, and as they are when lnetd starts
}

// nidSet are the NIDs of others and of the configuration, up to a point of a file.
type nidSet struct {
	own     []nid.NID
	unknown []nid.Net // networks of NIs whose NID is not known, because their interface has no address
}

func (s *nidSet) add(net nid.Net, id nid.NID) {
	if id.IsValid() {
		s.own = append(s.own, id)
	} else {
		s.unknown = append(s.unknown, net)
	}
}

// try returns the error of a route at a node with these NIDs. It takes routes by NIDs of others, which the node has only
// until LNet is taken down, and routes by networks on which its NID is not known, if nothing else is wrong with them.
func (s *nidSet) try(r route.Route, others []nid.NID) error {
	own, onlyNow := s.own, slices.Contains(others, r.Gateway)
	if onlyNow {
		own = slices.DeleteFunc(slices.Clone(own), func(id nid.NID) bool { return id == r.Gateway })
	}
	b := new(route.Table).Batch(own, rand.New(rand.NewPCG(0, 0))) // the order of routes has no meaning here
	err := b.Add(r)
	if errors.Is(err, syscall.EHOSTUNREACH) && (onlyNow || slices.Contains(s.unknown, r.Gateway.Net())) {
		return nil
	}
	return err
}

// start notes that an NI is there.
func (t *trial) start(c configuredNI) {
	t.now.add(c.on.Net, t.nids.of(c.on, c.ni))
	t.next.add(c.on.Net, t.nids.atStart(c.on, c.ni))
}

// AddNI implements tree.Target, like the methods below.
func (t *trial) AddNI(_ context.Context, net string, ni tree.NI) error {
	on, err := interfaceOf(net, ni)
	if err == nil {
		t.start(configuredNI{on, ni})
	}
	return err
}

// AddRoute takes a route that fits the present NIDs. For others it returns the error that they have when lnetd starts.
func (t *trial) AddRoute(_ context.Context, r tree.Route) error {
	v, err := r.Value()
	if err != nil || t.now.try(v, t.others) == nil {
		return err
	}
	return cli.Hint(t.next.try(v, t.others), hintRoutes)
}

// AddRouteList adds each route.
func (t *trial) AddRouteList(ctx context.Context, list []tree.Route) error {
	for _, r := range list {
		if err := t.AddRoute(ctx, r); err != nil {
			return err
		}
	}
	return nil
}

// AddPeer does nothing, as the methods below.
func (t *trial) AddPeer(context.Context, tree.Peer) error { return nil }

// AddUDSP implements tree.Target.
func (t *trial) AddUDSP(context.Context, tree.UDSP) error { return nil }

// Set implements tree.Target.
func (t *trial) Set(context.Context, tree.Setting) error { return nil }

// SetTogether implements tree.Target.
func (t *trial) SetTogether(context.Context, []tree.Setting) error { return nil }
