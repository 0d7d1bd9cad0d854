package collective_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"ulnet/lnet/nid"
)

// TestOtherLeader: a member waits for a leader that waits for another member. A third node asks the first member and the
// leader to come, as a leader does, and then tells them that all have arrived, or that the leader has given up. All of that is
// refused. The member passes when all have come, and not before.
func TestOtherLeader(t *testing.T) {
	for asked, name := range []string{"leader", "member"} {
		bubble(t, name, func(t *testing.T) {
			w := meet(t, 4, nil)
			member := w.wait(1)
			leader := w.lead(w.within(time.Minute), 0, 1, 2)
			for _, kind := range []byte{0, 1, 2, 0} {
				w.refused("the third node", w.sends(w.within(time.Second), 3, asked, kind))
				w.still("the member's Wait", member)
			}
			last := w.wait(2)
			w.ends("the leader", leader)
			w.ends("the member", member)
			w.ends("the last member", last)
		})
	}
}

// TestAskedBeforeLeading: a node is asked to come before it leads the point itself. It answers that question with EPERM, and
// its own round is a success.
func TestAskedBeforeLeading(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := meet(t, 3, nil)
		other := w.sends(w.within(time.Minute), 2, 0, 0)
		member := w.wait(1)
		w.still("the question", other)
		w.ends("the leader", w.lead(w.within(time.Minute), 0, 1))
		w.ends("the member", member)
		w.refused("the other", other)
	})
}

// TestLastLeaderCounts: several leaders ask a member before it comes. It goes with the one that asked last, because the
// others may have died, and refuses the others. One that has given up, or whose deadline has passed, does not count.
func TestLastLeaderCounts(t *testing.T) {
	for _, last := range []string{"goes on", "gives up", "is cut off until its deadline"} {
		bubble(t, last, func(t *testing.T) {
			w := meet(t, 3, nil)
			first := w.lead(w.within(time.Minute), 0, 1)
			ctx, giveUp := context.WithCancel(w.within(30 * time.Second))
			defer giveUp()
			second := w.lead(ctx, 2, 1)
			switch last {
			case "gives up":
				giveUp()
			case "is cut off until its deadline":
				w.mute.Store(3)
			}
			if last != "goes on" {
				if err := <-second; err == nil {
					t.Error("the last leader has no error")
				}
				second = first
			}
			member := w.wait(1)
			w.ends("the member", member)
			w.ends("the leader", second)
			if last == "goes on" {
				w.refused("the first leader", first)
			}
		})
	}
}

// TestLeadsAgain: a leader gives up and leads the same point again before a member comes. The member's handlers of both
// questions run then, or the first one ends by its deadline before that. The second round is a success.
func TestLeadsAgain(t *testing.T) {
	for _, comes := range []time.Duration{20 * time.Second, 70 * time.Second} {
		bubble(t, comes.String(), func(t *testing.T) {
			w := meet(t, 2, nil)
			ctx, giveUp := context.WithCancel(w.within(time.Minute))
			first := w.lead(ctx, 0, 1)
			giveUp()
			if err := <-first; err == nil {
				t.Error("a leader that gives up has no error")
			}
			second := w.lead(w.within(2*time.Minute), 0, 1)
			time.Sleep(comes)
			member := w.wait(1)
			w.ends("the member", member)
			w.ends("the leader", second)
		})
	}
}

// TestNextLeader: a leader dies, or is cut off, after a member has answered it. The member then accepts another leader: five
// seconds after the deadline of the first one, or as soon as discovery reports its death, and also if it is alive again.
func TestNextLeader(t *testing.T) {
	for name, report := range map[string]func(*view, nid.NID){
		"by time": nil, "dead": (*view).died, "back": func(v *view, id nid.NID) { v.died(id); v.back(id) },
	} {
		bubble(t, name, func(t *testing.T) {
			v := &view{known: map[nid.NID]vital{}}
			w := meet(t, 4, v)
			for _, id := range w.nids {
				v.tell(id, vital{alive: true})
			}
			member := w.wait(1)
			first := w.lead(w.within(10*time.Second), 0, 1, 2)
			w.mute.Store(1)
			w.refused("the next leader at once", w.lead(w.within(time.Second), 3, 1))
			if w.still("the member's Wait", member); report != nil {
				report(v, w.nids[0])
			} else {
				time.Sleep(15 * time.Second)
			}
			w.ends("the next leader", w.lead(w.within(time.Second), 3, 1))
			w.ends("the member", member)
			if err := <-first; err == nil {
				t.Error("the first leader has no error")
			}
		})
	}
}
