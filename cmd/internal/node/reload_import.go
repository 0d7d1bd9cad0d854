package node

import (
	"context"
	"math/rand/v2"
	"slices"

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
	t := &trial{nids: r.n.lookUpNIDs(), others: others, own: slices.Clone(others)}
	for _, c := range configuredNIs(before) {
		t.start(c)
	}
	if applied := tree.Apply(context.Background(), t, tree.AddMissing, r.to.Imported); len(applied.Errs) > 0 {
		return cli.Hint(importError(r.to.LNetConf, applied.Errs), "mend the file and run 'lnetctl reload' again")
	}
	return nil
}

// trial is a tree.Target that tries the networks and routes of a file, without changing the node. It takes all else.
type trial struct {
	tree.Target
	nids    *nidLookup
	others  []nid.NID // NIDs of NIs that only commands have started
	own     []nid.NID // NIDs of others and of the configuration, up to this point of the file
	unknown []nid.Net // networks of NIs whose NID is not known: their interface has no address, or also one for a large NID
}

// start notes that an NI is there. LNet may be configured with large NIDs now, and without them at the next start.
func (t *trial) start(c configuredNI) {
	id := t.nids.of(c.on, c.ni)
	if id.IsValid() {
		t.own = append(t.own, id)
	}
	if !id.IsValid() || t.nids.n.large(c.on) != c.on {
		t.unknown = append(t.unknown, c.on.Net)
	}
}

// AddNI implements tree.Target, like the methods below.
func (t *trial) AddNI(_ context.Context, net string, ni tree.NI) error {
	on, err := interfaceOf(net, ni)
	if err == nil {
		t.start(configuredNI{on, ni})
	}
	return err
}

// AddRoute takes routes by NIDs of others, which the node has only until LNet is taken down, and routes by networks on
// which its NID is not known.
func (t *trial) AddRoute(_ context.Context, r tree.Route) error {
	v, err := r.Value()
	if err != nil || slices.Contains(t.others, v.Gateway) || slices.Contains(t.unknown, v.Gateway.Net()) {
		return err
	}
	b := new(route.Table).Batch(t.own, rand.New(rand.NewPCG(0, 0))) // the order of routes has no meaning here
	return cli.Hint(b.Add(v), hintRoutes)
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
