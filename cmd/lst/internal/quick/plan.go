package quick

import (
	"errors"
	"fmt"

	"ulnet/lnet/nid"
)

// MaxNodes bounds the number of clients and the number of servers, because there are at least as
// many rounds as the larger of the two.
const MaxNodes = 64

// pair is a client and a server, by their indices.
type pair struct{ from, to int }

// own is for plan: each process is a node of its own.
func own(id nid.ProcessID) nid.NID { return id.NID }

// plan makes rounds of all pairs. The pairs of a round share no node. A node that is client and
// server makes no pair with itself. The function node returns the same NID for all
// processes that are on one node.
func plan(from, to []nid.ProcessID, node func(nid.ProcessID) nid.NID) (rounds [][]pair, err error) {
	for _, side := range []struct {
		name  string
		nodes []nid.ProcessID
	}{{"clients", from}, {"servers", to}} {
		if n := len(side.nodes); n > MaxNodes {
			return nil, fmt.Errorf("%d %s are too many: at most %d, for each pair is measured by itself; choose some of them", n, side.name, MaxNodes)
		}
		if twice, ok := repeated(side.nodes); ok {
			return nil, fmt.Errorf("%v is named twice among the %s", twice.NID, side.name)
		}
	}
	var taken []map[nid.NID]bool // nodes of each round
	// If no node is both client and server, each diagonal of the matrix of pairs becomes a round.
	for shift := range max(len(from), len(to)) {
		for i := range max(len(from), len(to)) {
			p := pair{i, (i + shift) % max(len(from), len(to))}
			if p.from >= len(from) || p.to >= len(to) || node(from[p.from]) == node(to[p.to]) {
				continue
			}
			a, b := node(from[p.from]), node(to[p.to])
			at := 0
			for at < len(rounds) && (taken[at][a] || taken[at][b]) {
				at++
			}
			if at == len(rounds) {
				rounds, taken = append(rounds, nil), append(taken, map[nid.NID]bool{})
			}
			rounds[at] = append(rounds[at], p)
			taken[at][a], taken[at][b] = true, true
		}
	}
	if len(rounds) == 0 {
		return nil, errors.New("there is no pair of two nodes: name other nodes as clients or as servers")
	}
	return rounds, nil
}

func repeated(ids []nid.ProcessID) (nid.ProcessID, bool) {
	seen := map[nid.ProcessID]bool{}
	for _, id := range ids {
		if seen[id] {
			return id, true
		}
		seen[id] = true
	}
	return nid.ProcessID{}, false
}
