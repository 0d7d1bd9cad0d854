package node

import (
	"net/netip"
	"slices"

	"ulnet/cmd/internal/config/tree"
	"ulnet/lnet/networks"
	"ulnet/lnet/nid"
	"ulnet/lnet/udsp"
)

// ownNIDs returns the NIDs that the NIs of a configuration have, or get when they start.
func (n *Node) ownNIDs(t *tree.Tree) (list []nid.NID) {
	l := n.lookUpNIDs()
	for _, c := range configuredNIs(t) {
		if id := l.of(c.on, c.ni); id.IsValid() {
			list = append(list, id)
		}
	}
	return list
}

// nidLookup finds the NIDs of NIs of a configuration.
type nidLookup struct {
	n     *Node
	now   tree.Tree // the NIs that the node has
	names interfaceNames
}

func (n *Node) lookUpNIDs() *nidLookup {
	return &nidLookup{n, tree.Tree{Net: NetTree(n.Status(), 0, udsp.List{})}, newInterfaceNames()}
}

// of returns the NID that an NI has, or gets when it starts. The result is not valid if its interface has no address now.
func (l *nidLookup) of(on networks.Interface, ni tree.NI) nid.NID {
	if has := l.now.RunsOn(on.Net.String(), ni); has != nil {
		return has.NID
	}
	return l.starts(l.n.large(on))
}

// atStart returns the NID that an NI has or gets when lnetd starts: an NI that is named by its interface has a large one
// only if that is its only kind. Without an address of the interface now, the result is the present NID if that is not
// large, and not valid otherwise.
func (l *nidLookup) atStart(on networks.Interface, ni tree.NI) nid.NID {
	if id := l.of(on, ni); id.Is4() {
		return id
	}
	return l.starts(on)
}

// starts returns the NID that an NI gets when it starts on an interface or an address.
func (l *nidLookup) starts(on networks.Interface) nid.NID {
	addr, err := netip.ParseAddr(on.Name)
	if err != nil {
		addr = l.names.first[on.Name]
	}
	if !addr.IsValid() {
		return nid.NID{}
	}
	return nid.FromAddr(on.Net, addr)
}

// keepOrder puts the NIs with the NIDs before into that order, and all others behind them. Peers know the node by the
// NID of its first NI, which must not change because that NI was stopped and started again.
func (n *Node) keepOrder(before []nid.NID) {
	n.lnet.Order(slices.Concat(before, n.NIDs()))
}
