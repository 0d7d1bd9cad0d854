//go:build linux

package main_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"ulnet/cmd/internal/control"
	"ulnet/cmd/internal/modules/rmcast"
	"ulnet/cmd/lnetd/internal/lnetdtest"
	"ulnet/lnd/lndtest/netlab"
	"ulnet/lnd/lndtest/spec"
)

const (
	mcastNodes = 8
	// mcastStayers is how many nodes, from the first on, are members all the time. The others leave
	// and join again.
	mcastStayers = 6
	mcastLoss    = 0.05
	// mcastWithin bounds the time to send and deliver all messages.
	mcastWithin = 10 * time.Minute
)

// mcastSources are the nodes that send.
var mcastSources = []int{0, 2, 5}

// mcastTotal returns the number of messages that all sources send together.
func mcastTotal(on network) int {
	if os.Getenv("ULNET_LONG") == "" {
		return on.pick(6_000, 1_500)
	}
	return 100_000
}

// mcastLine appends a message: its source, its number, and bytes derived from both. One message
// in twenty takes several datagrams.
func mcastLine(b []byte, source, i int) []byte {
	b = strconv.AppendInt(b, int64(source), 10)
	b = append(b, ' ')
	b = strconv.AppendInt(b, int64(i), 10)
	b = append(b, ' ')
	length := (i*7 + source) % 300
	if i%20 == source {
		length = 2000 + i%5000
	}
	for k := range length {
		b = append(b, 'a'+byte((i+k*k+source)%26))
	}
	return b
}

// mcastLines is a stream of messages.
type mcastLines struct {
	source, next, count int
	rest                []byte
}

func (l *mcastLines) Read(b []byte) (int, error) {
	for len(l.rest) == 0 {
		if l.next == l.count {
			return 0, io.EOF
		}
		l.rest = append(mcastLine(nil, l.source, l.next), '\n')
		l.next++
	}
	n := copy(b, l.rest)
	l.rest = l.rest[n:]
	return n, nil
}

// mcastRoom has servers on a switch that loses packets, in one multicast group.
type mcastRoom struct {
	t       *testing.T
	on      network
	daemons []*lnetdtest.Daemon
	each    int // number of messages that each source sends
}

func newMcastRoom(t *testing.T, on network) *mcastRoom {
	t.Helper()
	lab := netlab.New(t)
	s := lab.Switch("switch")
	commands := lnetdtest.Build(t)
	r := &mcastRoom{t: t, on: on, each: mcastTotal(on) / len(mcastSources)}
	for i := range mcastNodes {
		h := lab.Host(fmt.Sprintf("member %d", i))
		cable := lab.Cable(h, fmt.Sprintf("10.3.0.%d/24", i+1), s, "")
		cable.SetLoss(h, mcastLoss)
		r.daemons = append(r.daemons, commands.Start(t, lnetdtest.Config{
			Crowd:    true,
			Networks: on.eth0(), Port: kernelPort, Within: h.Do,
			Settings: append(on.eager(49*time.Second, 100*time.Millisecond, 500*time.Millisecond),
				"rmcast:", "  enable: 1", "  groups:", "    news:", "      number: 9",
				"      managers: ['"+on.nid("10.3.0.[1-2]")+"']", "      window: 512", fmt.Sprintf("      fragment: %d", on.fragment())),
		}))
	}
	return r
}

// mcastListener checks the messages that are delivered at a member.
type mcastListener struct {
	r            *mcastRoom
	member       int
	next         map[int]int // by source: the number of the next message; no entry before the first message
	got          int
	incarnations atomic.Int64  // number of the member's incarnations that have ended
	ended        chan struct{} // has a token when incarnations has increased
	wrong        []string
}

// run listens until count messages have arrived, or ctx ends.
func (l *mcastListener) run(ctx context.Context, count int, ready *sync.WaitGroup) {
	heard := false
	err := rmcast.OpReceive.Call(ctx, l.r.daemons[l.member].Control(), rmcast.ReceiveRequest{Group: "news", Count: count}, func(s rmcast.Step) error {
		if s.Ready {
			heard = true
			ready.Done()
			return nil
		}
		l.take(&s)
		return nil
	})
	if !heard {
		ready.Done()
	}
	if err != nil && (count > 0 || !errors.Is(err, context.Canceled)) {
		l.complain("ended with %v", err)
	}
}

// await waits until the listener has counted as many ended incarnations of its member as the parameter
// says. It counts one each time the member has left. If ctx ends first, await returns, and the method
// judge reports that there were too few.
func (l *mcastListener) await(ctx context.Context, incarnations int) {
	for int(l.incarnations.Load()) < incarnations {
		select {
		case <-l.ended:
		case <-ctx.Done():
			return
		}
	}
}

func (l *mcastListener) complain(format string, args ...any) {
	if len(l.wrong) < 10 {
		l.wrong = append(l.wrong, fmt.Sprintf(format, args...))
	}
}

func (l *mcastListener) take(s *rmcast.Step) {
	if s.Missed > 0 {
		l.complain("%d messages were missed", s.Missed)
	}
	data := s.Payload
	for i := range s.Mcast {
		h := &s.Mcast[i]
		switch {
		case h.Event == "gone":
			l.incarnations.Add(1)
			clear(l.next)
			select {
			case l.ended <- struct{}{}:
			default:
			}
		case h.Event == "":
			l.message(h, data[:h.Length])
			data = data[h.Length:]
		}
	}
}

// message checks one message. By RM-2 and RM-31, each message arrives once, messages of a source
// arrive in their order, and within one incarnation of the member none is missing.
func (l *mcastListener) message(h *rmcast.Heard, data []byte) {
	l.got++
	source, i := -1, -1
	if words := strings.SplitN(string(data), " ", 3); len(words) == 3 {
		source, _ = strconv.Atoi(words[0])
		i, _ = strconv.Atoi(words[1])
	}
	if i < 0 || !bytes.Equal(data, mcastLine(nil, source, i)) || h.Origin.String() != l.r.on.nid(fmt.Sprintf("10.3.0.%d", source+1)) {
		l.complain("message %d of %v is wrong: %.60q", h.Seq, h.Origin, data)
		return
	}
	if want, known := l.next[source]; known && i != want || !known && l.member < mcastStayers && i != 0 {
		l.complain("message %d of source %d came when %d was next", i, source, want)
	}
	l.next[source] = i + 1
}

// comeAndGo makes a member leave and join again, over and over, until the caller closes the channel.
// It returns how often the member has joined.
func (r *mcastRoom) comeAndGo(member int, over <-chan struct{}) (times int) {
	d := r.daemons[member]
	group := rmcast.JoinRequest{Group: "news", TimeoutMS: 60_000}
	for {
		if err := rmcast.OpLeave.Call(r.t.Context(), d.Control(), group); err != nil {
			r.t.Errorf("member %d leaves: %v", member, err)
			return times
		}
		if err := rmcast.OpJoin.Call(r.t.Context(), d.Control(), group); err != nil {
			r.t.Errorf("member %d joins: %v", member, err)
			return times
		}
		times++
		select {
		case <-over:
			return times
		default:
		}
	}
}

// TestReliableMulticast: RM-2, RM-9, RM-25, RM-29, RM-30, RM-31: there are eight daemons on a
// bridge that loses 5 % of all packets. Three sources send while two members leave and join
// again. While a node is a member, it gets each message once, and the messages of each source in their order.
func TestReliableMulticast(t *testing.T) {
	spec.Covers(t, "RM-2", "RM-9", "RM-25", "RM-29", "RM-30", "RM-31")
	if testing.Short() {
		t.Skip("takes half a minute; skipped by -short")
	}
	t.Parallel()
	onFirst(t, func(t *testing.T, on network) { newMcastRoom(t, on).run() })
}

// run sends all messages, and checks which of them arrived.
func (r *mcastRoom) run() {
	r.t.Helper()
	t := r.t
	for i, d := range r.daemons {
		d.Until(seenWithin, fmt.Sprintf("all members at member %d", i), func() bool {
			s, err := rmcast.OpStatus.Call(t.Context(), d.Control(), control.None{})
			if err != nil {
				return false
			}
			g := &s.Groups[0] // while Usable is older than Version, the node still sends under an older roster, and so not to all members
			return len(g.Members) == mcastNodes && g.Usable == g.Version && g.Multicast
		})
	}
	ctx, cancel := context.WithTimeout(t.Context(), mcastWithin)
	defer cancel()
	leavers, stop := context.WithCancel(ctx)
	defer stop()
	var listeners []*mcastListener
	var staying, going, ready sync.WaitGroup
	for i := range mcastNodes {
		l := &mcastListener{r: r, member: i, next: map[int]int{}, ended: make(chan struct{}, 1)}
		listeners = append(listeners, l)
		ready.Add(1)
		if i < mcastStayers {
			staying.Go(func() { l.run(ctx, r.each*len(mcastSources), &ready) })
		} else {
			going.Go(func() { l.run(leavers, 0, &ready) })
		}
	}
	ready.Wait()
	began := time.Now()
	over := make(chan struct{})
	var sending, moving sync.WaitGroup
	var moves atomic.Int64
	for _, i := range mcastSources {
		sending.Go(func() { r.send(ctx, i) })
	}
	for i := mcastStayers; i < mcastNodes; i++ {
		moving.Go(func() {
			times := r.comeAndGo(i, over)
			moves.Add(int64(times))
			listeners[i].await(ctx, times)
		})
	}
	sending.Wait()
	took := time.Since(began)
	close(over)
	staying.Wait()
	moving.Wait()
	stop()
	going.Wait()
	r.judge(listeners, int(moves.Load()), took)
}

func (r *mcastRoom) send(ctx context.Context, i int) {
	sent, err := rmcast.OpSend.CallWith(ctx, r.daemons[i].Control(), rmcast.SendRequest{Group: "news", Lines: true}, &mcastLines{source: i, count: r.each})
	if err != nil || sent.Messages != r.each || len(sent.Failed) > 0 {
		r.t.Errorf("source %d: %+v, %v", i, sent, err)
	}
}

func (r *mcastRoom) judge(listeners []*mcastListener, moves int, took time.Duration) {
	r.t.Helper()
	incarnations := 0
	for _, l := range listeners {
		for _, w := range l.wrong {
			r.t.Errorf("member %d: %s", l.member, w)
		}
		if want := r.each * len(mcastSources); l.member < mcastStayers && l.got != want {
			r.t.Errorf("member %d got %d messages, want %d", l.member, l.got, want)
		}
		if l.member >= mcastStayers {
			incarnations += int(l.incarnations.Load())
			if l.got == 0 {
				r.t.Errorf("member %d got nothing", l.member)
			}
		}
	}
	if moves < 2 || incarnations < moves {
		r.t.Errorf("members left and joined %d times, and saw %d", moves, incarnations)
	}
	s, err := rmcast.OpStatus.Call(r.t.Context(), r.daemons[0].Control(), control.None{})
	if err != nil || s.Groups[0].Stats["repaired"]+s.Groups[0].Stats["repairs"] == 0 {
		r.t.Errorf("nothing was repaired where packets are lost: %v", err)
	}
	r.t.Logf("%d messages in %v, members left and joined %d times; at the first member: %v", r.each*len(mcastSources), took.Round(time.Millisecond), moves, s.Groups[0].Stats)
}
