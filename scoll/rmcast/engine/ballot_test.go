package engine

import (
	"slices"
	"testing"
	"time"

	"ulnet/lnd/lndtest/spec"
	"ulnet/lnet/nid"
	"ulnet/scoll/rmcast/wire"
)

// told is what a member answers to a new manager about the newest list of members that it knows.
type told struct {
	id      uint32 // id of the node, which is also its communication number
	counter uint64 // counter of the newest list that the node knows; 0: no answer
	list    []uint32
	usable  bool
	voters  uint32
	of      uint16
	silent  []uint32
	flags   wire.OrderFlags
}

// electionOf makes a manager that has no state collect the answers. It returns the members of
// the list that the manager publishes, or none if it publishes no list, and the members that it
// expels.
func electionOf(t *testing.T, ended []uint32, answers []told) (members, expelled []uint32) {
	t.Helper()
	node := func(n uint32) nid.NID { return nid.FromNumber(nid.MakeNet(nid.GNI, 0), n) }
	self := node(99)
	g := NewManager(ManagerConfig{Self: self, Incarnation: 1000, Group: testGroup, Managers: []nid.NID{self}})
	var out Output
	step := func(now time.Duration, from nid.NID, o *wire.Order) {
		in := Input{}
		if o != nil {
			o.Group = testGroup
			in = Input{Kind: Instructed, From: from, Data: o.AppendTo(nil)}
		}
		g.Step(now, in, &out)
	}
	step(0, nid.NID{}, nil)
	for _, n := range ended {
		g.Step(0, Input{Kind: Health, From: node(n)}, &out)
	}
	for _, a := range answers {
		if a.counter > 0 {
			step(1, node(a.id), &wire.Order{Kind: wire.OrderReport, Epoch: 500, Version: wire.Version{Epoch: 500, Counter: 1}, Incarnation: 7})
		}
	}
	for _, a := range answers {
		if a.counter == 0 {
			continue
		}
		o := wire.Order{Kind: wire.OrderKnown, Flags: a.flags, Epoch: 1000, Version: wire.Version{Epoch: 500, Counter: a.counter}, Incarnation: 7, MTU: 2048, Window: uint32(len(a.list)), Voters: a.voters, Of: a.of}
		if a.usable {
			o.Usable = o.Version
		}
		for _, n := range a.list {
			o.Members = append(o.Members, wire.Member{ID: wire.ID{NID: node(n), Incarnation: 7}, Number: n})
		}
		for _, n := range a.silent {
			o.Departed = append(o.Departed, wire.ID{NID: node(n), Incarnation: 7})
		}
		o.Silent = uint16(len(a.silent))
		step(2, node(a.id), &o)
	}
	step(g.reportsBy(), nid.NID{}, nil)
	step(max(g.now, g.collect.by), nid.NID{}, nil)
	for _, e := range out.Effects {
		if e.Kind != DoReport {
			continue
		}
		o, err := wire.ParseOrder(out.message(&e))
		if err == nil && o.Kind == wire.OrderExpelled && slices.ContainsFunc(answers, func(a told) bool { return a.counter > 0 && node(a.id) == e.To }) {
			expelled = append(expelled, e.To.Number())
		}
	}
	for _, m := range g.latest.Members {
		members = append(members, m.NID.Number())
	}
	return members, expelled
}

// ballotCase is a set of answers, and the expected election.
type ballotCase struct {
	name     string
	ended    []uint32
	answers  []told
	members  []uint32
	expelled []uint32
}

var fiveMembers, sixMembers = []uint32{1, 2, 3, 4, 5}, []uint32{1, 2, 3, 4, 5, 6}

// tell returns the answers of some members, each of which reports list as the members of the
// newest list.
func tell(list []uint32, who ...uint32) (answers []told) {
	for _, n := range who {
		answers = append(answers, told{id: n, counter: 3, list: list, usable: true})
	}
	return answers
}

// ballotCases have a true list, and false ones that single members report.
func ballotCases() []ballotCase {
	return append(oneList(), laterLists()...)
}

func oneList() []ballotCase {
	return []ballotCase{
		{"all", nil, tell(fiveMembers, fiveMembers...), fiveMembers, nil},
		{"most", nil, tell(fiveMembers, 1, 2, 4), []uint32{1, 2, 4}, nil},
		{"few", nil, tell(fiveMembers, 1, 2), nil, nil},
		{"half", nil, tell(sixMembers, 1, 2, 3), nil, nil},
		{"most without those that have ended", []uint32{4, 5}, tell(fiveMembers, 1, 2), []uint32{1, 2}, nil},
		{"one leaves", nil, append(tell(fiveMembers, 1, 2), told{id: 3, counter: 3, list: fiveMembers, flags: wire.OrderLeaving}), nil, nil},
		{
			"one lies of a later list", nil,
			append(tell(fiveMembers, 1, 2, 3), told{id: 4, counter: 9, list: []uint32{4, 70, 71, 72}, usable: true}),
			[]uint32{1, 2, 3, 4},
			nil,
		},
		{
			"one lies of a later list of itself alone", nil,
			append(tell(fiveMembers, 1, 2, 3, 5), told{id: 4, counter: 9, list: []uint32{4}, usable: true}),
			[]uint32{1, 2, 3, 5},
			[]uint32{4},
		},
		{
			"the same, and one does not answer", nil,
			append(tell(fiveMembers, 1, 2, 3), told{id: 4, counter: 9, list: []uint32{4}, usable: true}),
			[]uint32{1, 2, 3},
			[]uint32{4},
		},
		{
			"a stranger lies of a list of its own", nil,
			append(tell(fiveMembers, fiveMembers...), told{id: 9, counter: 9, list: []uint32{9}, usable: true}),
			fiveMembers,
			[]uint32{9},
		},
		{
			"a stranger lies of a later list without one of them", nil,
			append(tell(fiveMembers, fiveMembers...), told{id: 9, counter: 9, list: []uint32{9, 1, 2, 3, 4}, usable: true}),
			fiveMembers,
			[]uint32{9},
		},
		{
			"one lies of a later list without another one", nil,
			append(tell(fiveMembers, 1, 2, 3, 5), told{id: 4, counter: 9, list: []uint32{4, 1, 2, 3}, usable: true}),
			[]uint32{1, 2, 3, 5},
			[]uint32{4},
		},
		{
			"few, and a stranger has an earlier list of its own", nil,
			append(tell(fiveMembers, 1, 2), told{id: 9, counter: 1, list: []uint32{9}, usable: true}),
			[]uint32{9},
			[]uint32{1, 2},
		},
		{
			"the same, with a list of the same version", nil,
			append(tell(fiveMembers, 1, 2), told{id: 9, counter: 3, list: []uint32{9}, usable: true}),
			[]uint32{9},
			[]uint32{1, 2},
		},
		{
			"one has the list and leaves, so it is not on it", nil,
			append(tell(fiveMembers, 1, 2, 3), told{id: 6, counter: 3, list: fiveMembers, usable: true, flags: wire.OrderLeaving}),
			[]uint32{1, 2, 3, 6},
			nil,
		},
		{
			"one leaves, and only it has the list without it", nil,
			append(tell(fiveMembers, 1, 2, 3, 4), told{id: 5, counter: 4, list: []uint32{1, 2, 3, 4}, voters: 6, of: 5, flags: wire.OrderLeaving}),
			fiveMembers,
			nil,
		},
		{
			"the same, and one that was left behind does not answer", nil,
			append(tell(fiveMembers, 1, 2, 3), told{id: 5, counter: 4, list: []uint32{1, 2, 3}, voters: 6, of: 5, silent: []uint32{4}, flags: wire.OrderLeaving}),
			[]uint32{1, 2, 3, 5},
			nil,
		},
	}
}

func laterLists() []ballotCase {
	return []ballotCase{
		{
			"a later list that the others went on with", nil,
			append(tell(fiveMembers, 4, 5), told{id: 3, counter: 4, list: []uint32{1, 2, 3}, usable: true}), nil, nil,
		},
		{
			"most of a list, left behind by the later one", nil,
			append(tell(fiveMembers, 4, 5), told{id: 1, counter: 4, list: []uint32{1, 2, 3}, usable: true}, told{id: 3, counter: 4, list: []uint32{1, 2, 3}, usable: true}),
			[]uint32{1, 3},
			[]uint32{4, 5},
		},
		{
			"a list with many that join, which not all have", nil,
			[]told{
				{id: 3, counter: 4, list: []uint32{1, 2, 3, 11, 12, 13}, voters: 4, of: 3},
				{id: 11, counter: 4, list: []uint32{1, 2, 3, 11, 12, 13}, voters: 4, of: 3},
				{id: 12, counter: 4, list: []uint32{1, 2, 3, 11, 12, 13}, voters: 4, of: 3},
				{id: 13, counter: 4, list: []uint32{1, 2, 3, 11, 12, 13}, voters: 4, of: 3},
			},
			nil, nil,
		},
		{
			"the same, and most of those before", nil,
			[]told{
				{id: 2, counter: 4, list: []uint32{1, 2, 3, 11}, voters: 4, of: 3},
				{id: 3, counter: 4, list: []uint32{1, 2, 3, 11}, voters: 4, of: 3},
				{id: 11, counter: 4, list: []uint32{1, 2, 3, 11}, voters: 4, of: 3},
			},
			[]uint32{2, 3, 11},
			nil,
		},
		{
			"one was left behind, and has ended since",
			[]uint32{3, 4},
			[]told{{id: 1, counter: 4, list: []uint32{1, 2, 3}, voters: 6, of: 5, silent: []uint32{4, 5}}, {id: 2, counter: 4, list: []uint32{1, 2, 3}, voters: 6, of: 5, silent: []uint32{4, 5}}},
			[]uint32{1, 2},
			nil,
		},
		{
			"one was left behind, and may live",
			[]uint32{3},
			[]told{{id: 1, counter: 4, list: []uint32{1, 2, 3}, voters: 6, of: 5, silent: []uint32{4, 5}}, {id: 2, counter: 4, list: []uint32{1, 2, 3}, voters: 6, of: 5, silent: []uint32{4, 5}}},
			nil, nil,
		},
	}
}

// TestBallots: RM-A9: a new manager continues from a list if more than half of the members on it
// answer and none of these knows a later list. What a single member reports about another list changes
// nothing.
func TestBallots(t *testing.T) {
	spec.Covers(t, "RM-A9")
	for _, tt := range ballotCases() {
		members, expelled := electionOf(t, tt.ended, tt.answers)
		slices.Sort(members)
		slices.Sort(expelled)
		if !slices.Equal(members, tt.members) || !slices.Equal(slices.Compact(expelled), tt.expelled) {
			t.Errorf("%s: members %v, want %v; expelled %v, want %v", tt.name, members, tt.members, expelled, tt.expelled)
		}
	}
}
