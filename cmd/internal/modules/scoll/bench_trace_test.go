package scoll

import (
	"slices"
	"strings"
	"testing"
	"time"

	"ulnet/cmd/internal/admin"
	"ulnet/lnet/nid"
)

// us converts µs to ns.
func us(n int64) int64 { return n * 1000 }

// chain returns the measurement of one broadcast, and the time to its answer in ns. The broadcast goes from
// the root over an inner member to a leaf; another leaf of the root has answered before. The clock of the
// inner member is a second ahead, and that of the leaf a minute behind. The function change, if not nil, can
// change the traces by the names of the members.
func chain(change func(at map[string]*admin.Trace)) (*measurement, int64) {
	root, inner, leaf, early := nid.MustParse("10.0.0.1@tcp"), nid.MustParse("10.0.0.2@tcp"), nid.MustParse("10.0.0.3@tcp"), nid.MustParse("10.0.0.4@tcp")
	at := map[string]*admin.Trace{
		"root":  {Reading: admin.Reading{Received: us(1000), Sent: us(1180)}, Forwarded: us(1020), Last: us(1170), Child: inner},
		"inner": {Reading: admin.Reading{Received: us(1050), Sent: us(1140)}, Forwarded: us(1055), Last: us(1130), Child: leaf},
		"leaf":  {Reading: admin.Reading{Received: us(1090), Sent: us(1100)}, Forwarded: us(1092)},
		"early": {Reading: admin.Reading{Received: us(1040), Sent: us(1050)}, Forwarded: us(1042)},
	}
	if change != nil {
		change(at)
	}
	o := &admin.Outcome{Sent: us(1000), Elapsed: 180 * time.Microsecond}
	for id, name := range map[nid.NID]string{root: "root", inner: "inner", leaf: "leaf", early: "early"} {
		t := *at[name]
		if offset := map[string]int64{"inner": int64(time.Second), "leaf": -int64(time.Minute)}[name]; offset != 0 {
			t.Received, t.Sent, t.Forwarded, t.Offset = t.Received+offset, t.Sent+offset, t.Forwarded+offset, time.Duration(offset)
			if t.Last != 0 {
				t.Last += offset
			}
		}
		o.Answers = append(o.Answers, admin.Piece{NID: id, Answer: admin.Answer{Data: t.AppendTo(nil)}})
	}
	m := &measurement{
		target: &target{c: &collective{self: root}, group: &namedGroup{}}, order: admin.Order{Verb: admin.Tracing},
		clocks: map[nid.NID][]clockAt{},
	}
	m.take(0, o)
	return m, int64(o.Elapsed)
}

// TestTraces: SC-125: the steps of the critical path add up to the time to the answer: sending
// and work of each member, wake-ups between them, and pauses of the garbage collection. A step whose
// end would be before its begin takes no time.
func TestTraces(t *testing.T) {
	type step struct {
		host byte
		kind string
		us   int64
	}
	usual := []step{
		{1, StepSend, 20},
		{2, StepWake, 30},
		{2, StepSend, 5},
		{3, StepWake, 35},
		{3, StepWork, 10},
		{2, StepWake, 30},
		{2, StepWork, 10},
		{1, StepWake, 30},
		{1, StepWork, 10},
	}
	for name, tt := range map[string]struct {
		change func(at map[string]*admin.Trace)
		want   []step
	}{
		"as usual": {nil, usual},
		"the garbage collection of the leaf": {
			func(at map[string]*admin.Trace) { at["leaf"].Paused = 7 * time.Microsecond },
			append(append(slices.Clone(usual[:4]), step{3, StepWork, 3}, step{3, StepGC, 7}), usual[5:]...),
		},
		"a member runs while its parent still sends": {
			func(at map[string]*admin.Trace) { at["root"].Forwarded = us(1060) },
			append([]step{{1, StepSend, 50}, {2, StepWake, 0}}, usual[2:]...),
		},
		"the root's own work takes longer": {
			func(at map[string]*admin.Trace) { at["root"].Forwarded = us(1175) }, []step{{1, StepWork, 180}},
		},
		"a member names the root as its child": {
			func(at map[string]*admin.Trace) {
				at["leaf"].Child, at["leaf"].Last = nid.MustParse("10.0.0.1@tcp"), us(1095)
			}, usual,
		},
		"instants of another day, and endless pauses": {
			func(at map[string]*admin.Trace) {
				at["leaf"].Received, at["leaf"].Sent, at["leaf"].Paused = -1<<62, 1<<62, 1<<62
			},
			[]step{
				{1, StepSend, 20},
				{2, StepWake, 30},
				{2, StepSend, 0},
				{3, StepWake, 0},
				{3, StepWork, 0},
				{3, StepGC, 130},
				{2, StepWake, 0},
				{2, StepWork, 0},
				{1, StepWake, 0},
				{1, StepWork, 0},
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			m, elapsed := chain(tt.change)
			traces := m.traces()
			var got []step
			sum := int64(0)
			for _, s := range traces[0].Steps {
				addr := s.NID.Addr()
				got = append(got, step{addr.As4()[3], s.Kind, s.NS / 1000})
				sum += s.NS
			}
			if !slices.Equal(got, tt.want) || sum != elapsed {
				t.Errorf("%v, want %v; sum %d of %d", got, tt.want, sum, elapsed)
			}
		})
	}
}

// TestTracedPercentiles: the traces are those of broadcasts at the percentiles, by nearest rank.
func TestTracedPercentiles(t *testing.T) {
	m := &measurement{target: &target{c: &collective{}}}
	for i := range 200 {
		m.rounds = append(m.rounds, &admin.Outcome{Elapsed: time.Duration(200 - i)})
	}
	for i, want := range []int64{100, 180, 198, 200} {
		if got := m.traces()[i]; got.Answered != want || got.Percentile != tracedPercentiles[i] || got.Round != 200-int(want) {
			t.Errorf("percentile %d: %+v, want %d", tracedPercentiles[i], got, want)
		}
	}
}

// TestBenchTrace: a measurement of nodes returns traces only if it is asked to, and the steps
// of a trace add up.
func TestBenchTrace(t *testing.T) {
	n := scollNodes(t, 3, nil)[0]
	if err := n.CreateGroup(GroupCreate{Name: "g"}, strings.NewReader("127.0.0.[71-73]@tcp")); err != nil {
		t.Fatal(err)
	}
	r, err := n.Bench(t.Context(), BenchRequest{Group: "g", Tree: "k-ary 1", Count: 3, Trace: true, TimeoutMS: 60_000})
	if err != nil {
		t.Fatal(err)
	}
	for i, trace := range r.Traces {
		sum := int64(0)
		for _, s := range trace.Steps {
			sum += s.NS
		}
		if trace.Percentile != tracedPercentiles[i] || sum != trace.Answered || trace.Answered != r.Answered[trace.Round] {
			t.Errorf("%+v: the steps take %d", trace, sum)
		}
		// The path ends with the root's own work, after which only a pause for a garbage collection may
		// follow.
		last := len(trace.Steps) - 1
		if last > 0 && trace.Steps[last].Kind == StepGC { // a step of a collection comes after the step that the collection interrupted
			last--
		}
		if last < 0 || trace.Steps[last].NID != nid.MustParse("127.0.0.71@tcp") || trace.Steps[last].Kind != StepWork {
			t.Errorf("%+v: the path does not end with the root's work", trace)
		}
	}
	if r.Members != 3 || len(r.Traces) != len(tracedPercentiles) || r.Last[0] <= 0 {
		t.Errorf("%+v", r)
	}
	if r, err := n.Bench(t.Context(), BenchRequest{Group: "g", Count: 1, TimeoutMS: 60_000}); err != nil || r.Traces != nil {
		t.Errorf("%+v, %v", r, err)
	}
}
