package main

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"

	"ulnet/cmd/internal/cli"
	"ulnet/cmd/internal/dissection"
	"ulnet/lnd/capture"
)

// sum counts messages and the bytes of their payloads.
type sum struct {
	Messages uint64 `json:"messages"`
	Bytes    uint64 `json:"bytes"`
}

type pair struct{ src, dest string }

// stats are the sums over all sources. A capture can have any number of different keys, so maxKeys
// bounds the keys of each map: further keys are counted together, as "other".
type stats struct {
	counts      capture.Counts
	connections int
	lost        uint64 // bytes of TCP that are missing from the capture
	lostPackets uint64 // packets of RoCE that are missing from the capture
	unknown     uint64
	types       map[string]sum
	pairs       map[pair]sum
	portals     map[string]sum
}

const maxKeys = 1 << 16

func newStats() *stats {
	return &stats{types: map[string]sum{}, pairs: map[pair]sum{}, portals: map[string]sum{}}
}

func (s *stats) packets(c capture.Counts) {
	s.counts.Packets += c.Packets
	s.counts.Other += c.Other
}

func (s *stats) record(r *capture.Record) {
	switch r.Kind {
	case capture.Opened:
		s.connections++
	case capture.Lost:
		if r.Conn.RoCE {
			s.lostPackets += r.Length
		} else {
			s.lost += r.Length
		}
	case capture.Unknown:
		s.unknown += r.Length
	case capture.Request, capture.Refusal, capture.Hello, capture.Noop, capture.CMMessage, capture.Exchange:
		count(s.types, r.Type(), "other", 0)
	case capture.Message:
		n := r.Header.PayloadLength
		count(s.types, r.Type(), "other", n)
		count(s.pairs, pair{r.Header.SrcNID.String(), r.Header.DestNID.String()}, pair{"other", "other"}, n)
		if portal, ok := r.Portal(); ok {
			count(s.portals, strconv.FormatUint(uint64(portal), 10), "other", n)
		}
	}
}

func count[K comparable](m map[K]sum, key, other K, bytes uint32) {
	if _, ok := m[key]; !ok && len(m) >= maxKeys {
		key = other
	}
	m[key] = sum{m[key].Messages + 1, m[key].Bytes + uint64(bytes)}
}

func (s *stats) print(w io.Writer, asJSON bool) error {
	pairs := slices.SortedFunc(maps.Keys(s.pairs), func(a, b pair) int { return cmp.Or(cmp.Compare(a.src, b.src), cmp.Compare(a.dest, b.dest)) })
	if asJSON {
		return s.printJSON(w, pairs)
	}
	fmt.Fprintf(w, "%d packets, %d connections, %d bytes lost, %d bytes not understood",
		s.counts.Packets-s.counts.Other, s.connections, s.lost, s.unknown)
	if s.lostPackets > 0 {
		fmt.Fprintf(w, ", %d packets of RDMA lost", s.lostPackets)
	}
	fmt.Fprintln(w)
	var t cli.Table
	t.Row("\nTYPE", "MESSAGES", "BYTES")
	for _, k := range dissection.Types {
		if v, ok := s.types[k]; ok {
			t.Row(k, v.Messages, v.Bytes)
		}
	}
	t.Row("\nFROM", "TO", "MESSAGES", "BYTES")
	for _, p := range pairs {
		t.Row(p.src, p.dest, s.pairs[p].Messages, s.pairs[p].Bytes)
	}
	t.Row("\nPORTAL", "MESSAGES", "BYTES")
	for _, k := range slices.SortedFunc(maps.Keys(s.portals), compareNumbers) {
		t.Row(k, s.portals[k].Messages, s.portals[k].Bytes)
	}
	return t.Print(w)
}

// printJSON prints the sums as one object.
func (s *stats) printJSON(w io.Writer, pairs []pair) error {
	type pairSum struct {
		Src  string `json:"src_nid"`
		Dest string `json:"dest_nid"`
		sum
	}
	list := []pairSum{}
	for _, p := range pairs {
		list = append(list, pairSum{p.src, p.dest, s.pairs[p]})
	}
	return json.NewEncoder(w).Encode(struct {
		Packets     uint64         `json:"packets"`
		Connections int            `json:"connections"`
		Lost        uint64         `json:"lost_bytes"`
		LostPackets uint64         `json:"lost_packets,omitempty"`
		Unknown     uint64         `json:"unknown_bytes"`
		Types       map[string]sum `json:"types"`
		Pairs       []pairSum      `json:"nid_pairs"`
		Portals     map[string]sum `json:"portals"`
	}{s.counts.Packets - s.counts.Other, s.connections, s.lost, s.lostPackets, s.unknown, s.types, list, s.portals})
}

// compareNumbers orders decimal numbers by value, and other texts by length.
func compareNumbers(a, b string) int {
	return cmp.Or(cmp.Compare(len(a), len(b)), cmp.Compare(a, b))
}
