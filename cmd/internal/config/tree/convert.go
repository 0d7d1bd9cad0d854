package tree

import (
	"fmt"
	"strings"
	"syscall"

	"ulnet/lnet/networks"
	"ulnet/lnet/nid"
	"ulnet/lnet/path"
	"ulnet/lnet/route"
	"ulnet/lnet/udsp"
)

// RouteOf converts a route to the form of the section route.
func RouteOf(r route.Route) Route {
	one := Route{Net: r.Net.String(), Gateway: r.Gateway, Hop: new(r.Hops), Priority: new(r.Priority)}
	if r.Sensitivity != 1 {
		one.Sensitivity = r.Sensitivity
	}
	return one
}

// Value converts the route to the form of nodes. EINVAL: the name of the network is wrong.
func (r Route) Value() (route.Route, error) {
	net, err := nid.ParseNet(r.Net)
	if err != nil {
		return route.Route{}, fmt.Errorf("%w: %w", err, syscall.EINVAL)
	}
	v := route.New(net, r.Gateway)
	v.Sensitivity = max(r.Sensitivity, 1)
	if r.Hop != nil {
		v.Hops = *r.Hop
	}
	if r.Priority != nil {
		v.Priority = *r.Priority
	}
	return v, nil
}

// UDSPOf converts a selection rule to the form of the section udsp. The index is the position of
// the rule.
func UDSPOf(index int, r udsp.Rule) UDSP {
	u := UDSP{Index: index, Src: r.Src.String(), Dst: r.Dst.String(), Rte: r.Rte.String()}
	if u.Dst == "" || u.Src+u.Rte == "" {
		u.Action = &UDSPAction{Priority: uint32(r.Priority)}
	}
	return u
}

// Value converts the rule to the form of nodes. EINVAL: a pattern is wrong, or the patterns do
// not fit together.
func (u UDSP) Value() (r udsp.Rule, err error) {
	for _, p := range []struct {
		text string
		to   *udsp.Pattern
	}{{u.Src, &r.Src}, {u.Dst, &r.Dst}, {u.Rte, &r.Rte}} {
		if *p.to, err = udsp.ParsePattern(p.text); err != nil {
			return r, fmt.Errorf("%w: %w", syscall.EINVAL, err)
		}
	}
	if u.Action != nil {
		r.Priority = path.Priority(u.Action.Priority)
	}
	return r, r.Validate()
}

// NetOf converts an entry of the tunable networks to the form of the section net.
func NetOf(i networks.Interface) Net {
	n := Net{Type: i.Net.String(), NIs: []NI{{}}}
	if i.Name != "" {
		n.NIs[0].Interfaces = Interfaces{i.Name}
	}
	return n
}

// AddrText returns the address of a NID in the form in which the tunable networks names an NI by it: an IP address or, on
// networks whose addresses are numbers, a number.
func AddrText(id nid.NID) string {
	addr, _, _ := strings.Cut(id.String(), "@")
	return addr
}

// On returns an entry of the tunable networks that makes an NI run where ni runs: on the
// address of its NID, whatever its interface is, or else on its first interface. If it has
// neither, the driver chooses. EINVAL: the name of the network is wrong.
func (ni NI) On(net string) (networks.Interface, error) {
	of, err := nid.ParseNet(net)
	if err != nil {
		return networks.Interface{}, fmt.Errorf("%w: %w", syscall.EINVAL, err)
	}
	i := networks.Interface{Net: of}
	switch {
	case ni.NID.IsValid():
		i.Name = AddrText(ni.NID)
	case len(ni.Interfaces) > 0:
		i.Name = ni.Interfaces[0]
	}
	return i, nil
}
