package control_test

import (
	"context"
	"errors"
	"io"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"ulnet/cmd/internal/cli"
	. "ulnet/cmd/internal/control"
	"ulnet/cmd/internal/node"
	"ulnet/lnet/nid"
)

// fakeScoll answers what it is asked with itself, and notes it.
type fakeScoll struct {
	said []string
	err  error
	held chan struct{} // unless nil: a broadcast tells when it has begun, lasts until its client goes, and tells
}

var collectives = node.CollectiveStatus{
	NID: target.NID, RTTUS: 10, Tree: "binomial", Groups: []node.GroupStatus{{Name: "all", NIDs: []nid.NID{target.NID}}},
	Stats: map[string]uint64{"spoofed": 3},
}

func (f *fakeScoll) Collectives() (node.CollectiveStatus, error) { return collectives, f.err }

func (f *fakeScoll) Broadcast(ctx context.Context, r node.BroadcastRequest, bulk io.Reader) (node.BroadcastReply, error) {
	data, err := io.ReadAll(bulk)
	if f.held != nil {
		f.held <- struct{}{}
		<-ctx.Done()
		f.held <- struct{}{}
		return node.BroadcastReply{}, ctx.Err()
	}
	f.said = append(f.said, r.Group+" "+r.Verb+" "+string(r.Text)+" "+string(data))
	return node.BroadcastReply{Status: node.BroadcastOK, Reached: []nid.NID{target.NID}}, errors.Join(err, f.err)
}

func (f *fakeScoll) Bench(_ context.Context, r node.BenchRequest) (node.BenchReply, error) {
	return node.BenchReply{Group: r.Group, Last: []int64{int64(r.Count)}}, f.err
}

func (f *fakeScoll) GroupCreate(r node.GroupCreate, nids io.Reader) error {
	text, err := io.ReadAll(nids)
	f.said = append(f.said, "create "+r.Name+" "+r.Tree+" "+string(text))
	return errors.Join(err, f.err)
}

func (f *fakeScoll) GroupDestroy(_ context.Context, r node.GroupName) error {
	f.said = append(f.said, "destroy "+r.Name)
	return f.err
}

func (f *fakeScoll) routes() []Route {
	return []Route{
		node.OpCollectives.Do(Ask(f.Collectives)), node.OpBroadcast.DoWith(f.Broadcast), node.OpBench.Do(f.Bench),
		node.OpGroupCreate.DoWith(With(f.GroupCreate)), node.OpGroupDestroy.Do(f.GroupDestroy),
	}
}

func TestScoll(t *testing.T) {
	f := &fakeScoll{}
	c := NewClient(serve(t, Config{Routes: f.routes()}).path)
	tells(t, "status", collectives, c, node.OpCollectives)
	bulk := strings.Repeat("bulk", 100_000)
	r, err := node.OpBroadcast.CallWith(t.Context(), c, node.BroadcastRequest{Group: "all", Verb: "text", Text: []byte("text")}, strings.NewReader(bulk))
	if err != nil || r.Status != node.BroadcastOK || len(r.Reached) != 1 {
		t.Errorf("%+v, %v", r, err)
	}
	if _, err := node.OpBroadcast.CallWith(t.Context(), c, node.BroadcastRequest{Group: "all", Verb: "ping"}, nil); err != nil {
		t.Error(err)
	}
	if b, err := node.OpBench.Call(t.Context(), c, node.BenchRequest{Group: "all", Count: 7}); err != nil || b.Group != "all" || b.Last[0] != 7 {
		t.Errorf("%+v, %v", b, err)
	}
	if err := node.OpGroupCreate.CallWith(t.Context(), c, node.GroupCreate{Name: "a", Tree: "flat"}, strings.NewReader("10.0.0.1@tcp")); err != nil {
		t.Error(err)
	}
	if err := node.OpGroupDestroy.Call(t.Context(), c, node.GroupName{Name: "a"}); err != nil {
		t.Error(err)
	}
	want := []string{"all text text " + bulk, "all ping  ", "create a flat 10.0.0.1@tcp", "destroy a"}
	if diff := cmp.Diff(want, f.said); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestScollErrors(t *testing.T) {
	c := NewClient(serve(t, Config{Routes: (&fakeScoll{err: cli.Hint(syscall.ESRCH, "enable it")}).routes()}).path)
	_, status := node.OpCollectives.Call(t.Context(), c, None{})
	_, broadcast := node.OpBroadcast.CallWith(t.Context(), c, node.BroadcastRequest{}, nil)
	_, bench := node.OpBench.Call(t.Context(), c, node.BenchRequest{})
	for i, err := range []error{
		status, broadcast, bench, node.OpGroupCreate.CallWith(t.Context(), c, node.GroupCreate{}, nil), node.OpGroupDestroy.Call(t.Context(), c, node.GroupName{}),
	} {
		if !errors.Is(err, syscall.ESRCH) || cli.HintOf(err) != "enable it" {
			t.Errorf("%d: %v with hint %q", i, err, cli.HintOf(err))
		}
	}
}

// TestBroadcastClientGoes: a broadcast ends with its client.
func TestBroadcastClientGoes(t *testing.T) {
	f := &fakeScoll{held: make(chan struct{})}
	d := serve(t, Config{Routes: f.routes()})
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() {
		_, err := node.OpBroadcast.CallWith(ctx, NewClient(d.path), node.BroadcastRequest{}, strings.NewReader("data"))
		done <- err
	}()
	wait(t, f.held)
	cancel()
	wait(t, f.held)
	if err := wait(t, done); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}
