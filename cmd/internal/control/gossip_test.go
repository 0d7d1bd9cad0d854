package control_test

import (
	"errors"
	"io"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"ulnet/cmd/internal/cli"
	. "ulnet/cmd/internal/control"
	gossipmod "ulnet/cmd/internal/modules/gossip"
	"ulnet/gossip"
	"ulnet/gossip/engine"
	"ulnet/lnet/nid"
)

// fakeGossip has a fixed answer for each operation. The field said has the contents of the requests so far.
type fakeGossip struct {
	said []string
	err  error // the error that all commands return
}

var (
	gossipStatus = gossipmod.Status{State: gossipmod.Running, Snapshot: &gossip.Status{
		Self: target.NID, Clock: 7, N: 2, Threshold: 16, Quorum: true, Alive: 2, Digest: "d1",
		Participants: []gossip.Participant{{NID: target.NID, Health: gossip.Alive}, {Age: 255, Health: gossip.Dead, Aliveness: 3}},
	}}
	gossipParams  = gossipmod.Params{State: gossipmod.Stopped, N: 2, IntervalMS: 200, Self: target.NID}
	gossipHistory = []gossipmod.Change{{Time: time.Unix(5, 6).UTC(), Clock: 8, Event: gossip.QuorumLost, NID: target.NID, Aliveness: 1}}
	gossipList    = gossip.RollStatus{Staged: true, N: 2, Members: []engine.RollMember{{NID: target.NID, State: engine.RollStaged, Health: gossip.Dead}}}
)

func (f *fakeGossip) say(what ...string) error {
	f.said = append(f.said, strings.Join(what, " "))
	return f.err
}

func (f *fakeGossip) sayWith(what string, nids io.Reader) error {
	text, err := io.ReadAll(nids)
	return errors.Join(err, f.say(what, string(text)))
}

func (*fakeGossip) GossipStatus() gossipmod.Status                 { return gossipStatus }
func (*fakeGossip) GossipParams() (gossipmod.Params, error)        { return gossipParams, nil }
func (*fakeGossip) GossipHistory() []gossipmod.Change              { return gossipHistory }
func (f *fakeGossip) GossipListStatus() (gossip.RollStatus, error) { return gossipList, f.err }
func (f *fakeGossip) GossipStart() error                           { return f.say("start") }
func (f *fakeGossip) GossipStop() error                            { return f.say("stop") }
func (f *fakeGossip) GossipCancel() error                          { return f.say("cancel") }
func (f *fakeGossip) GossipStage(nids io.Reader) error             { return f.sayWith("stage", nids) }

func (f *fakeGossip) GossipExplain(id nid.NID) (gossip.Explanation, error) {
	return gossip.Explanation{Participant: gossip.Participant{NID: id}, Via: id}, f.err
}

func (f *fakeGossip) GossipInit(r gossipmod.InitRequest, nids io.Reader) error {
	if r.IntervalMS != 200 || !r.Strict || r.Fudge != -1 {
		return syscall.EPROTO
	}
	return f.sayWith("init", nids)
}

func (f *fakeGossip) GossipCommit(r gossipmod.CommitRequest) error {
	if r.Anyway {
		return f.say("commit anyway")
	}
	return f.say("commit")
}

func (f *fakeGossip) routes() []Route {
	return []Route{
		gossipmod.OpStatus.Do(Told(f.GossipStatus)), gossipmod.OpParams.Do(Ask(f.GossipParams)), gossipmod.OpHistory.Do(Told(f.GossipHistory)),
		gossipmod.OpExplain.Do(Quick(func(r gossipmod.Participant) (gossip.Explanation, error) { return f.GossipExplain(r.NID) })),
		gossipmod.OpListStatus.Do(Ask(f.GossipListStatus)), gossipmod.OpInit.DoWith(With(f.GossipInit)),
		gossipmod.OpStart.Do(Just(f.GossipStart)), gossipmod.OpStop.Do(Just(f.GossipStop)), gossipmod.OpCancel.Do(Just(f.GossipCancel)),
		gossipmod.OpStage.DoWith(With(func(_ None, nids io.Reader) error { return f.GossipStage(nids) })), gossipmod.OpCommit.Do(Act(f.GossipCommit)),
	}
}

// tells asks a question and compares the answer with the expected one.
func tells[T any](t *testing.T, what string, want T, c *Client, question Question[None, T]) {
	t.Helper()
	got, err := question.Call(t.Context(), c, None{})
	if err != nil {
		t.Errorf("%s: %v", what, err)
	}
	if diff := cmp.Diff(want, got, byValue); diff != "" {
		t.Errorf("%s (-want +got):\n%s", what, diff)
	}
}

func TestGossip(t *testing.T) {
	f := &fakeGossip{}
	c := NewClient(serve(t, Config{Routes: f.routes()}).path)
	tells(t, "status", gossipStatus, c, gossipmod.OpStatus)
	tells(t, "params", gossipParams, c, gossipmod.OpParams)
	tells(t, "history", gossipHistory, c, gossipmod.OpHistory)
	tells(t, "list", gossipList, c, gossipmod.OpListStatus)
	six := nid.MustParse("fd88::1@tcp")
	if e, err := gossipmod.OpExplain.Call(t.Context(), c, gossipmod.Participant{NID: six}); err != nil || e.NID != six || e.Via != six {
		t.Errorf("explain: %+v, %v", e, err)
	}
	init := gossipmod.InitRequest{IntervalMS: 200, Strict: true, Fudge: -1}
	for _, err := range []error{
		gossipmod.OpInit.CallWith(t.Context(), c, init, strings.NewReader("10.0.0.[1-2]@tcp\n10.0.0.4@tcp")),
		gossipmod.OpStart.Call(t.Context(), c, None{}), gossipmod.OpStage.CallWith(t.Context(), c, None{}, strings.NewReader("10.0.0.3@tcp")),
		gossipmod.OpCommit.Call(t.Context(), c, gossipmod.CommitRequest{}), gossipmod.OpCommit.Call(t.Context(), c, gossipmod.CommitRequest{Anyway: true}),
		gossipmod.OpCancel.Call(t.Context(), c, None{}), gossipmod.OpStop.Call(t.Context(), c, None{}),
	} {
		if err != nil {
			t.Error(err)
		}
	}
	want := []string{"init 10.0.0.[1-2]@tcp\n10.0.0.4@tcp", "start", "stage 10.0.0.3@tcp", "commit", "commit anyway", "cancel", "stop"}
	if diff := cmp.Diff(want, f.said); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestGossipErrors(t *testing.T) {
	f := &fakeGossip{err: cli.Hint(syscall.EBUSY, "wait")}
	d := serve(t, Config{Routes: f.routes()})
	c := NewClient(d.path)
	_, listErr := gossipmod.OpListStatus.Call(t.Context(), c, None{})
	_, explainErr := gossipmod.OpExplain.Call(t.Context(), c, gossipmod.Participant{NID: target.NID})
	for i, err := range []error{
		listErr, explainErr, gossipmod.OpStart.Call(t.Context(), c, None{}), gossipmod.OpStage.CallWith(t.Context(), c, None{}, strings.NewReader("x")),
		gossipmod.OpInit.CallWith(t.Context(), c, gossipmod.InitRequest{IntervalMS: 200, Strict: true, Fudge: -1}, strings.NewReader("")),
	} {
		if !errors.Is(err, syscall.EBUSY) || cli.HintOf(err) != "wait" {
			t.Errorf("%d: %v with hint %q, want EBUSY", i, err, cli.HintOf(err))
		}
	}
	if answer := d.talk(t, "GET /v1/gossip/explain/nobody HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"); !strings.HasPrefix(answer, "HTTP/1.1 400 ") {
		t.Errorf("explain nobody: %s", answer)
	}
}
