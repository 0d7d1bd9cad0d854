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
	"ulnet/cmd/internal/modules/rmcast"
	"ulnet/lnd/lndtest/spec"
	"ulnet/lnet/nid"
)

// fakeMcast has a fixed answer for each operation. The field said has the contents of the requests so far.
type fakeMcast struct {
	said []string
	err  error
}

func (f *fakeMcast) McastStatus() (rmcast.Status, error) {
	return rmcast.Status{NID: target.NID, Groups: []rmcast.GroupStatus{{Name: "news", Number: 7, Waits: []rmcast.Wait{{Seq: 9}}}}}, f.err
}

func (f *fakeMcast) McastJoin(r rmcast.JoinRequest) error {
	f.said = append(f.said, "join "+r.Group)
	return f.err
}

func (f *fakeMcast) McastLeave(r rmcast.JoinRequest) error {
	f.said = append(f.said, "leave "+r.Group)
	return f.err
}

func (f *fakeMcast) McastExpel(r rmcast.ExpelRequest) error {
	f.said = append(f.said, "expel from "+r.Group)
	return f.err
}

func (f *fakeMcast) SetMcastFaults(r rmcast.Faults) error {
	f.said = append(f.said, "faults of "+r.Group)
	return f.err
}

func (f *fakeMcast) McastSend(_ context.Context, r rmcast.SendRequest, body io.Reader) (rmcast.SendResult, error) {
	data, err := io.ReadAll(body)
	f.said = append(f.said, "send "+r.Group+" "+string(data))
	return rmcast.SendResult{Messages: 3, Version: "5.1"}, errors.Join(err, f.err)
}

func (f *fakeMcast) McastReceive(_ context.Context, r rmcast.ReceiveRequest, report func(rmcast.Step) error) error {
	if f.err != nil {
		return f.err
	}
	if err := report(rmcast.Step{Ready: true}); err != nil {
		return err
	}
	return report(rmcast.Step{Mcast: []rmcast.Heard{{Origin: target.NID, Seq: 1, Length: 5}, {Seq: 2, Length: 2}}, Payload: []byte("hello" + r.Group[:2])})
}

func (f *fakeMcast) BenchMcast(_ context.Context, r rmcast.BenchRequest, report func(rmcast.Step) error) error {
	if f.err != nil {
		return f.err
	}
	return report(rmcast.Step{Counts: &rmcast.BenchResult{Group: r.Group, Messages: r.Count, Final: true}})
}

func (f *fakeMcast) routes() []Route {
	return []Route{
		rmcast.OpStatus.Do(Ask(f.McastStatus)), rmcast.OpJoin.Do(Act(f.McastJoin)), rmcast.OpLeave.Do(Act(f.McastLeave)),
		rmcast.OpExpel.Do(Act(f.McastExpel)), rmcast.OpFaults.Do(Act(f.SetMcastFaults)), rmcast.OpSend.DoWith(f.McastSend),
		rmcast.OpReceive.Do(f.McastReceive), rmcast.OpBench.Do(f.BenchMcast),
	}
}

// TestMcast: RM-24, RM-31: requests of commands arrive unchanged, and answers with payload come
// back complete.
func TestMcast(t *testing.T) {
	spec.Covers(t, "RM-24", "RM-31")
	f := &fakeMcast{}
	c := NewClient(serve(t, Config{Routes: f.routes()}).path)
	ctx := t.Context()
	if s, err := rmcast.OpStatus.Call(ctx, c, None{}); err != nil || s.Groups[0].Name != "news" || s.Groups[0].Waits[0].Seq != 9 {
		t.Errorf("%+v, %v", s, err)
	}
	for i, err := range []error{
		rmcast.OpJoin.Call(ctx, c, rmcast.JoinRequest{Group: "a"}), rmcast.OpLeave.Call(ctx, c, rmcast.JoinRequest{Group: "b"}), rmcast.OpFaults.Call(ctx, c, rmcast.Faults{Group: "c"}),
		rmcast.OpExpel.Call(ctx, c, rmcast.ExpelRequest{Group: "f", NID: nid.MustParse("10.0.0.9@tcp")}),
	} {
		if err != nil {
			t.Errorf("%d: %v", i, err)
		}
	}
	if sent, err := rmcast.OpSend.CallWith(ctx, c, rmcast.SendRequest{Group: "d", Lines: true}, strings.NewReader("x\ny\n")); err != nil || sent.Messages != 3 {
		t.Errorf("%+v, %v", sent, err)
	}
	var heard []string
	err := rmcast.OpReceive.Call(ctx, c, rmcast.ReceiveRequest{Group: "news"}, func(s rmcast.Step) error {
		if len(s.Mcast) > 0 {
			heard = append(heard, s.Mcast[0].Origin.String(), string(s.Payload))
		}
		return nil
	})
	if diff := cmp.Diff([]string{target.NID.String(), "hellone"}, heard); err != nil || diff != "" {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
	measured := 0
	err = rmcast.OpBench.Call(ctx, c, rmcast.BenchRequest{Group: "e", Count: 5}, func(s rmcast.Step) error {
		measured += s.Counts.Messages
		return nil
	})
	if err != nil || measured != 5 {
		t.Errorf("%d, %v", measured, err)
	}
	if diff := cmp.Diff([]string{"join a", "leave b", "faults of c", "expel from f", "send d x\ny\n"}, f.said); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestMcastErrors(t *testing.T) {
	c := NewClient(serve(t, Config{Routes: (&fakeMcast{err: cli.Hint(syscall.ESRCH, "enable it")}).routes()}).path)
	ctx := t.Context()
	none := func(rmcast.Step) error { return nil }
	_, status := rmcast.OpStatus.Call(ctx, c, None{})
	_, send := rmcast.OpSend.CallWith(ctx, c, rmcast.SendRequest{}, nil)
	for i, err := range []error{
		status, send, rmcast.OpJoin.Call(ctx, c, rmcast.JoinRequest{}), rmcast.OpLeave.Call(ctx, c, rmcast.JoinRequest{}), rmcast.OpFaults.Call(ctx, c, rmcast.Faults{}),
		rmcast.OpExpel.Call(ctx, c, rmcast.ExpelRequest{NID: nid.MustParse("10.0.0.9@tcp")}),
		rmcast.OpReceive.Call(ctx, c, rmcast.ReceiveRequest{}, none), rmcast.OpBench.Call(ctx, c, rmcast.BenchRequest{}, none),
	} {
		if !errors.Is(err, syscall.ESRCH) || cli.HintOf(err) != "enable it" {
			t.Errorf("%d: %v with hint %q", i, err, cli.HintOf(err))
		}
	}
}
