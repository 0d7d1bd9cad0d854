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
	"ulnet/cmd/internal/modules/scoll"
	"ulnet/lnet/nid"
)

// fakeScoll has a fixed answer for each operation. The field said has the contents of the requests so far.
type fakeScoll struct {
	said []string
	err  error
	held chan struct{} // if not nil: a broadcast sends to the channel when it begins, runs until its client disconnects, and sends again
}

var collectives = scoll.Status{
	NID: target.NID, RTTUS: 10, Tree: "binomial", Groups: []scoll.GroupStatus{{Name: "all", NIDs: []nid.NID{target.NID}}},
	Stats: map[string]uint64{"spoofed": 3},
}

func (f *fakeScoll) Status() (scoll.Status, error) { return collectives, f.err }

func (f *fakeScoll) Broadcast(ctx context.Context, r scoll.BroadcastRequest, bulk io.Reader) (scoll.BroadcastReply, error) {
	data, err := io.ReadAll(bulk)
	if f.held != nil {
		f.held <- struct{}{}
		<-ctx.Done()
		f.held <- struct{}{}
		return scoll.BroadcastReply{}, ctx.Err()
	}
	f.said = append(f.said, r.Group+" "+r.Verb+" "+string(r.Text)+" "+string(data))
	return scoll.BroadcastReply{Status: scoll.BroadcastOK, Reached: []nid.NID{target.NID}}, errors.Join(err, f.err)
}

func (f *fakeScoll) Bench(_ context.Context, r scoll.BenchRequest) (scoll.BenchReply, error) {
	return scoll.BenchReply{Group: r.Group, Last: []int64{int64(r.Count)}}, f.err
}

func (f *fakeScoll) GroupCreate(r scoll.GroupCreate, nids io.Reader) error {
	text, err := io.ReadAll(nids)
	f.said = append(f.said, "create "+r.Name+" "+r.Tree+" "+string(text))
	return errors.Join(err, f.err)
}

func (f *fakeScoll) GroupDestroy(_ context.Context, r scoll.GroupName) error {
	f.said = append(f.said, "destroy "+r.Name)
	return f.err
}

func (f *fakeScoll) routes() []Route {
	return []Route{
		scoll.OpStatus.Do(Ask(f.Status)), scoll.OpBroadcast.DoWith(f.Broadcast), scoll.OpBench.Do(f.Bench),
		scoll.OpGroupCreate.DoWith(With(f.GroupCreate)), scoll.OpGroupDestroy.Do(f.GroupDestroy),
	}
}

func TestScoll(t *testing.T) {
	f := &fakeScoll{}
	c := NewClient(serve(t, Config{Routes: f.routes()}).path)
	tells(t, "status", collectives, c, scoll.OpStatus)
	bulk := strings.Repeat("bulk", 100_000)
	r, err := scoll.OpBroadcast.CallWith(t.Context(), c, scoll.BroadcastRequest{Group: "all", Verb: "text", Text: []byte("text")}, strings.NewReader(bulk))
	if err != nil || r.Status != scoll.BroadcastOK || len(r.Reached) != 1 {
		t.Errorf("%+v, %v", r, err)
	}
	if _, err := scoll.OpBroadcast.CallWith(t.Context(), c, scoll.BroadcastRequest{Group: "all", Verb: "ping"}, nil); err != nil {
		t.Error(err)
	}
	if b, err := scoll.OpBench.Call(t.Context(), c, scoll.BenchRequest{Group: "all", Count: 7}); err != nil || b.Group != "all" || b.Last[0] != 7 {
		t.Errorf("%+v, %v", b, err)
	}
	if err := scoll.OpGroupCreate.CallWith(t.Context(), c, scoll.GroupCreate{Name: "a", Tree: "flat"}, strings.NewReader("10.0.0.1@tcp")); err != nil {
		t.Error(err)
	}
	if err := scoll.OpGroupDestroy.Call(t.Context(), c, scoll.GroupName{Name: "a"}); err != nil {
		t.Error(err)
	}
	want := []string{"all text text " + bulk, "all ping  ", "create a flat 10.0.0.1@tcp", "destroy a"}
	if diff := cmp.Diff(want, f.said); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestScollErrors(t *testing.T) {
	c := NewClient(serve(t, Config{Routes: (&fakeScoll{err: cli.Hint(syscall.ESRCH, "enable it")}).routes()}).path)
	_, status := scoll.OpStatus.Call(t.Context(), c, None{})
	_, broadcast := scoll.OpBroadcast.CallWith(t.Context(), c, scoll.BroadcastRequest{}, nil)
	_, bench := scoll.OpBench.Call(t.Context(), c, scoll.BenchRequest{})
	for i, err := range []error{
		status, broadcast, bench, scoll.OpGroupCreate.CallWith(t.Context(), c, scoll.GroupCreate{}, nil), scoll.OpGroupDestroy.Call(t.Context(), c, scoll.GroupName{}),
	} {
		if !errors.Is(err, syscall.ESRCH) || cli.HintOf(err) != "enable it" {
			t.Errorf("%d: %v with hint %q", i, err, cli.HintOf(err))
		}
	}
}

// TestBroadcastClientGoes: a broadcast is aborted when its client disconnects.
func TestBroadcastClientGoes(t *testing.T) {
	f := &fakeScoll{held: make(chan struct{})}
	d := serve(t, Config{Routes: f.routes()})
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() {
		_, err := scoll.OpBroadcast.CallWith(ctx, NewClient(d.path), scoll.BroadcastRequest{}, strings.NewReader("data"))
		done <- err
	}()
	wait(t, f.held)
	cancel()
	wait(t, f.held)
	if err := wait(t, done); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}
