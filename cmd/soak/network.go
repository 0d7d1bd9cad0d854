package main

import (
	"fmt"
	"strings"
)

// network is the type of the workers' network.
type network string

const (
	tcp  network = "tcp"
	o2ib network = "o2ib" // RDMA implemented in software
	// mixed is TCP on one side of the routers and RDMA in software on the other.
	mixed network = "mixed"
)

func parseNetwork(s string) (network, error) {
	if n := network(s); n == tcp || n == o2ib || n == mixed {
		return n, nil
	}
	return "", fmt.Errorf("no network %q: want tcp, o2ib or mixed", s)
}

// has reports whether a kind of fault has an effect on this type of network.
func (n network) has(k faultKind) bool { return n != o2ib || k != faultReset }

// parseFaults parses a list of kinds of faults, such as "kill,link down"; or "all" or "none".
func (n network) parseFaults(s string) (chosen []faultKind, err error) {
	if s == "none" {
		return nil, nil
	}
	names := make(map[string]faultKind)
	for k := range faultKinds {
		names[k.String()] = k
		if s == "all" && n.has(k) {
			chosen = append(chosen, k)
		}
	}
	if s == "all" {
		return chosen, nil
	}
	for name := range strings.SplitSeq(s, ",") {
		k, ok := names[strings.TrimSpace(name)]
		switch {
		case !ok:
			return nil, fmt.Errorf("no fault %q; there are %s", name, faultNames())
		case !n.has(k):
			return nil, fmt.Errorf("%v does nothing to %s", k, n)
		}
		chosen = append(chosen, k)
	}
	return chosen, nil
}

func faultNames() string {
	var names []string
	for k := range faultKinds {
		names = append(names, k.String())
	}
	return strings.Join(names, ", ")
}
