package sim

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"ulnet/lnet/machine"
)

// resumed pauses a node before its timer is due, lets four messages wait and resumes it. It
// returns what the program got, in order: a to d for the messages, T for the timer. If insist is
// set, the program asks for an overdue timer as early as it can; otherwise it sets the timer
// later when it gets a message.
func resumed(t *testing.T, seed uint64, cpu CPU, skew int64, insist bool) string {
	b := newBench(t, Config[int]{Nodes: 2, Seed: seed, CPU: cpu})
	b.SetSkew(0, skew)
	var got strings.Builder
	deadline := 100 * time.Millisecond
	b.also = func(id NodeID, now time.Duration, in Input[int], _ *Output[int]) time.Duration {
		if id != 0 {
			return machine.Never
		}
		switch in.Kind {
		case Message:
			got.WriteByte('a' + byte(in.Msg))
		case Timer:
			got.WriteByte('T')
			deadline = machine.Never
		}
		if now < deadline {
			return deadline
		}
		if insist {
			return now + 1
		}
		return now + time.Second
	}
	b.run(time.Second / 50)
	b.poke(0)
	b.run(2 * time.Second / 50)
	b.Pause(0)
	b.At(time.Second, func() { b.send(1, 0, 1, 0, 1, 2, 3) })
	b.At(2*time.Second, func() { b.Resume(0) })
	b.run(2*time.Second + 500*time.Millisecond)
	return got.String()
}

// For every position among the messages there is a seed with which the timer runs at that
// position. The messages keep their order.
func TestResumeOrder(t *testing.T) {
	for _, cpu := range []CPU{{}, {PerStep: time.Millisecond}} {
		for _, skew := range []int64{0, 300, -900_000, 500_000} {
			t.Run(fmt.Sprintf("%v %v", cpu.PerStep, skew), func(t *testing.T) {
				count := map[string]int{}
				const seeds = 200
				for seed := range uint64(seeds) {
					count[resumed(t, seed, cpu, skew, true)]++
				}
				for _, want := range []string{"Tabcd", "aTbcd", "abTcd", "abcTd", "abcdT"} {
					if count[want] < seeds/5/2 {
						t.Errorf("%s came %d times of %d; all: %v", want, count[want], seeds, count)
					}
					delete(count, want)
				}
				if len(count) > 0 {
					t.Errorf("also: %v", count)
				}
			})
		}
	}
}

// A program that returns a later wake when it gets a message gets no timer before that wake: the
// timer that came due in the pause runs before the first message or not at all.
func TestResumeReplacedTimer(t *testing.T) {
	count := map[string]int{}
	for seed := range uint64(100) {
		count[resumed(t, seed, CPU{}, 0, false)]++
	}
	if len(count) != 2 || count["Tabcd"] == 0 || count["abcd"] == 0 {
		t.Errorf("got %v, want Tabcd and abcd", count)
	}
}

func TestPause(t *testing.T) {
	b := newBench(t, Config[int]{Nodes: 2, Inbox: 3})
	b.wake[0] = 30 * time.Millisecond
	b.poke(0)
	b.Pause(0)
	b.Pause(0)
	b.send(1, 0, 1, 0, 1, 2, 3, 4) // two messages more than the inbox holds
	b.run(20 * time.Millisecond)
	if !b.Command(0, "hello") {
		t.Error("a paused node is up, and its inbox never full for commands")
	}
	if len(b.got) != 0 || !b.Paused(0) || !b.Up(0) {
		t.Errorf("a paused node got %q", b.texts())
	}
	b.Resume(0)
	b.Resume(0)
	b.run(time.Second)
	want := []string{
		"20ms 1 message a 2", "20ms 1 message b 2", "20ms 1 message c 2", "20ms 1 command hello", "30ms 1 timer",
	}
	if got := b.texts(); !slices.Equal(got, want) {
		t.Errorf("got  %q\nwant %q", got, want)
	}
	if s := b.Stats(); s.InboxFull != 2 {
		t.Errorf("%d messages found the inbox full, want 2", s.InboxFull)
	}
}

// While a node is busy, messages wait, and a due timer goes first.
func TestBusy(t *testing.T) {
	b := newBench(t, Config[int]{Nodes: 2})
	b.SetSlow(0, 10*time.Millisecond)
	b.wake[0] = 15 * time.Millisecond
	b.send(1, 0, 1, 0, 1, 2)
	b.Command(0, "x")
	b.run(time.Second)
	want := []string{"0s 1 command x", "10ms 1 message a 2", "20ms 1 timer", "30ms 1 message b 2", "40ms 1 message c 2"}
	if got := b.texts(); !slices.Equal(got, want) {
		t.Errorf("got  %q\nwant %q", got, want)
	}
	b.got = nil
	b.SetSlow(0, 0)
	b.send(1, 0, 1, 4, 5)
	b.run(2 * time.Second)
	if got := b.texts(); !slices.Equal(got, []string{"1s 1 message e 2", "1s 1 message f 2"}) {
		t.Errorf("got %q of a node that is fast again", got)
	}
}

// Work that a node has not finished when it is killed does not keep its next incarnation
// busy.
func TestKillBusyAndPaused(t *testing.T) {
	b := newBench(t, Config[int]{Nodes: 2})
	b.SetSlow(0, 10*time.Millisecond)
	b.Command(0, "x")
	b.send(1, 0, 1, 0)
	b.Pause(0)
	b.run(5 * time.Millisecond)
	b.Kill(0)
	b.SetSlow(0, 0)
	b.Start(0, false)
	b.send(1, 0, 1, 1)
	b.run(time.Second)
	want := []string{"0s 1 command x", "5ms 1 message b 2"}
	if got := b.texts(); !slices.Equal(got, want) {
		t.Errorf("got  %q\nwant %q", got, want)
	}
}
