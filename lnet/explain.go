package lnet

import (
	"errors"
	"fmt"
	"syscall"

	"ulnet/lnet/nid"
	"ulnet/lnet/path"
)

// NoPriority is the priority of an NI or a net that no selection rule names.
const NoPriority = uint32(path.NoPriority)

// Path is the path that a message would take, with all candidates.
type Path struct {
	Source      nid.NID         `json:"source,omitzero"`   // the NI by which it leaves; zero: there is no path
	NextHop     nid.NID         `json:"next_hop,omitzero"` // the NID that gets it first: Destination, or a gateway
	Destination nid.NID         `json:"destination"`       // the NID that it is for in the end: the one asked for, or another NID of its node
	Candidates  []PathCandidate `json:"candidates"`        // NIs of this node, NIs of the destination's node, gateways
}

// PathCandidate is an NI or a gateway with its state, by which paths are chosen.
type PathCandidate struct {
	NID  nid.NID `json:"nid"`  // NID of the NI; for a gateway, the NID that its routes name
	Kind string  `json:"kind"` // kind of the NI: "local", "peer" or "gateway"
	// Reason is "chosen", or says why the candidate was not.
	Reason   string `json:"reason"`
	Up       bool   `json:"up"`       // of a local NI: its link; of a peer NI: what its node says; of a gateway: its route
	Health   int    `json:"health"`   // health of the NI, 0 to 1000
	Priority uint32 `json:"priority"` // the lowest is the best; 4294967295: no priority; for a gateway, the priority of its route
	Hops     int    `json:"hops"`     // hops of a gateway's route; 0: undefined, or no gateway
	Credits  int    `json:"credits"`  // free credits of a local NI; of others: the negative number of messages in progress
}

// Path tells which path a PUT to a NID would take now, and for each other path the reason why not.
// src is the NID from which it leaves; a zero src allows any. Path sends no message and starts no
// discovery.
//
//	EINVAL  dst is no NID, or src is none of this node's
func (n *Node) Path(src, dst nid.NID) (Path, error) {
	m := &Message{Source: src, dest: dst}
	m.Header.DestNID = dst
	lo, err := n.loopback(m)
	switch {
	case err != nil:
		return Path{}, fmt.Errorf("from %v to %v: %w", src, dst, err)
	case lo != nil:
		return Path{Source: lo.nid, NextHop: dst, Destination: dst}, nil
	}
	e := path.Explain(n.view.Load().Table, &path.Query{Source: src, Dest: dst, To: n.target(dst)})
	if errors.Is(e.Err, syscall.EINVAL) {
		return Path{}, e.Err
	}
	p := Path{Destination: dst}
	if e.Err == nil {
		p = Path{Source: e.Choice.Local.NID, NextHop: e.Choice.Hop, Destination: e.Choice.Dest}
	}
	for i := range e.Candidates {
		p.Candidates = append(p.Candidates, candidate(&e.Candidates[i]))
	}
	return p, nil
}

func candidate(c *path.Candidate) PathCandidate {
	switch {
	case c.Local != nil:
		l := c.Local
		ni := l.Owner.(*NI)
		ni.mu.Lock()
		defer ni.mu.Unlock()
		return PathCandidate{
			NID: l.NID, Kind: "local", Reason: c.Why.String(), Up: !l.Down(), Health: l.Health(), Priority: uint32(l.Priority()),
			Credits: ni.tx.free() - ni.tx.wanted,
		}
	case c.Remote != nil:
		return remoteCandidate(c.Remote, c.Why, "peer")
	}
	g := remoteCandidate(c.Gateway.NI, c.Why, "gateway")
	g.Up, g.Priority, g.Hops = c.Gateway.Alive(), c.Gateway.Priority, c.Gateway.Hops
	return g
}

func remoteCandidate(r *path.Remote, why path.Reason, kind string) PathCandidate {
	return PathCandidate{
		NID: r.NID, Kind: kind, Reason: why.String(), Up: !r.Down(), Health: r.Health(), Priority: uint32(r.Priority()),
		Credits: -r.UnderWay(),
	}
}
