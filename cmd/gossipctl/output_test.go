package main

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	gossipmod "ulnet/cmd/internal/modules/gossip"
	"ulnet/gossip"
	"ulnet/gossip/engine"
	"ulnet/lnet/nid"
)

var (
	one = nid.MustParse("10.0.0.1@tcp")
	two = nid.MustParse("10.0.0.2@tcp")
)

func died(second int, id nid.NID) gossipmod.Change {
	return gossipmod.Change{Time: time.Unix(int64(second), 0), Clock: 7, Event: gossip.Died, NID: id, Aliveness: 2}
}

// TestScreen: the output on a terminal first clears the screen and then overwrites it in place,
// with the latest changes below the table.
func TestScreen(t *testing.T) {
	var out strings.Builder
	w := watcher{out: &out}
	doc := statusDoc{Clock: 5, N: 2, Alive: 1, Threshold: 16, Self: one, Participants: []gossip.Participant{
		{NID: one, Health: gossip.Alive}, {NID: two, Age: 30, Health: gossip.Dead, Aliveness: 2},
	}}
	if err := w.screen(doc, []gossipmod.Change{died(1, two)}); err != nil {
		t.Fatal(err)
	}
	want := "\x1b[2J\x1b[H" + strings.Join([]string{
		"clock 5: 1 of 2 alive, no quorum; dead is who is not heard of for more than 16 cycles",
		"NID           AGE  HEALTH  ALIVENESS",
		"10.0.0.1@tcp  0    alive   0  (this node)",
		"10.0.0.2@tcp  30   dead    2",
		"",
		changeLine(died(1, two)), "",
	}, "\x1b[K\n") + "\x1b[J"
	if diff := cmp.Diff(want, out.String()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	w.started = true
	out.Reset()
	var more []gossipmod.Change
	for i := range shownChanges {
		more = append(more, died(10+i, one))
	}
	if err := w.screen(doc, more); err != nil {
		t.Fatal(err)
	}
	got := out.String()
	if !strings.HasPrefix(got, "\x1b[Hclock 5") || strings.Count(got, " died  ") != shownChanges || strings.Contains(got, changeLine(died(1, two))) {
		t.Errorf("second screen: %q", got)
	}
}

func TestExplain(t *testing.T) {
	for _, test := range []struct {
		name string
		e    gossip.Explanation
		want []string
	}{
		{
			"alive through another", gossip.Explanation{
				Participant: gossip.Participant{NID: two, Age: 5, Health: gossip.Alive}, Threshold: 16, Interval: 200,
				Heard: true, Ago: 1, Clock: 99, Via: one, AgeThen: 3,
			}, []string{
				"10.0.0.2@tcp is alive: it gave its last sign of life about 5 cycles (1s) ago; dead is who gave none for more than 16 cycles (3.2s).",
				"The last news came through 10.0.0.1@tcp, 1 cycle (200ms) ago, at clock 99, and was 3 cycles old then.",
			},
		},
		{
			"dead", gossip.Explanation{
				Participant: gossip.Participant{NID: two, Age: 17, Health: gossip.Dead, Aliveness: 1}, Threshold: 16, Interval: 200,
				Heard: true, Ago: 17, Clock: 99, Via: two,
			}, []string{
				"10.0.0.2@tcp is dead: it gave its last sign of life about 17 cycles (3.4s) ago; dead is who gave none for more than 16 cycles (3.2s).",
				"The last news came from itself, 17 cycles (3.4s) ago, at clock 99.",
				"It has died 1 time as far as this node knows.",
				"If it runs, compare 'gossipctl status' and 'gossipctl params' there, and try 'lnetctl ping 10.0.0.2@tcp'.",
			},
		},
		{
			"after a pause", gossip.Explanation{
				Participant: gossip.Participant{NID: two, Age: 255, Health: gossip.Alive, Aliveness: 2}, Resync: true, Silent: true,
			}, []string{
				"10.0.0.2@tcp is alive: nothing was heard of it since this node stood still, or since it is in the list again.",
				"It has died 2 times as far as this node knows.",
				"This node stood still and is collecting news: it reports what it knew before, until it has enough.",
				"This node is silent after its start: others do not hear of it yet.",
			},
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			var b strings.Builder
			if err := explain(&b, test.e); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(strings.Join(test.want, "\n")+"\n", b.String()); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestListStatus(t *testing.T) {
	members := []engine.RollMember{
		{NID: one, State: engine.RollCommitted, Health: gossip.Alive},
		{NID: two, State: engine.RollStaged, Health: gossip.Alive, Leaves: true},
	}
	for _, test := range []struct {
		s    gossip.RollStatus
		want string
	}{
		{gossip.RollStatus{N: 2}, "2 participants, no change under way\n"},
		{
			gossip.RollStatus{N: 2, Staged: true, NewN: 3, Members: members},
			"2 participants, a list of 3 is staged here and by all that are alive: 'gossipctl list commit' on all\n",
		},
		{
			gossip.RollStatus{N: 1, Staged: true, NewN: 2, Members: append(members[:1:1], engine.RollMember{NID: two, Joins: true})},
			"1 participants, a list of 2 is staged here and by all that are alive; half of it or more is not alive: [10.0.0.2@tcp]\n",
		},
		{
			gossip.RollStatus{N: 3, Committed: true, NewN: 3, Members: members},
			"3 participants, committed here; the old list is understood until all that are alive have committed\n" +
				"NID           STATE      HEALTH\n10.0.0.1@tcp  committed  alive\n10.0.0.2@tcp  staged     alive  leaves\n",
		},
	} {
		var b strings.Builder
		if err := printListStatus(&b, test.s); err != nil {
			t.Fatal(err)
		}
		if !strings.HasPrefix(b.String(), test.want) {
			t.Errorf("got\n%s\nwant\n%s", b.String(), test.want)
		}
	}
}
