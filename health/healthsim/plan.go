package healthsim

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"time"

	"ulnet/lnd/sim/scenario"
)

// planClients is how many clients plans have.
const planClients = 6

// plan writes a scenario.
type plan struct {
	strings.Builder
	rng     *rand.Rand
	servers int
	at      time.Duration
	busy    []time.Duration // by server: until when it is not well
	gone    []time.Duration // by client: until when it is down
	apart   time.Duration   // until when a server is cut off
}

func (p *plan) line(format string, args ...any) { fmt.Fprintf(p, format+"\n", args...) }

func (p *plan) between(a, b time.Duration) time.Duration {
	return (a + time.Duration(p.rng.Int64N(int64(b-a)))).Truncate(time.Millisecond)
}

// begin writes what plans have in common.
func (p *plan) begin(seed uint64, network string) {
	p.rng = rand.New(rand.NewPCG(seed, 11))
	p.servers = 3 + p.rng.IntN(5)
	p.busy, p.gone = make([]time.Duration, p.servers), make([]time.Duration, planClients)
	p.line("protocol health\nnodes %d\nset servers %d\nset attach %d", p.servers+planClients, p.servers, p.rng.IntN(p.servers+1))
	p.line("boot %d-%d at 2s\ncheck every 1s\nset late 20%%\nset unsent 10%%", p.servers+1, p.servers+planClients)
	p.line("link latency 2ms±1ms duplicate 5%% reorder 10%% hold 200ms±200ms%s", network)
	p.at = 22 * time.Second
}

// end writes what is expected, after so much calm.
func (p *plan) end(calm time.Duration) string {
	last := p.at
	for _, until := range append(p.busy, p.gone...) {
		if until == time.Hour {
			continue
		}
		last = max(last, until)
	}
	for after := calm / 2; after < calm; after += 20 * time.Second {
		p.line("at %v do %d-%d doubt", last+after, p.servers+1, p.servers+planClients)
	}
	p.line("run %v\nexpect settled\nexpect uniform\nexpect no-false-eviction", last+calm+5*time.Second)
	return p.String()
}

// MildPlan draws a scenario of faults that no well-behaved client may be evicted
// for (G-CH-3): masters and candidates die, are restarted quickly or late, with
// records and without, or stand still, a minority of the servers at a time;
// clients are restarted; messages come late and twice, evictions much later;
// broadcasts fail.
func MildPlan(seed uint64) string {
	var p plan
	p.begin(seed, "")
	for range 2 + p.rng.IntN(4) {
		p.use()
		p.mildFault()
		p.at += p.between(0, 30*time.Second)
	}
	return settings(p.end(90 * time.Second))
}

// use has users attach to servers once more, and other programs of a client's node talk.
func (p *plan) use() {
	client := p.servers + 1 + p.rng.IntN(planClients)
	if p.gone[client-p.servers-1] > p.at {
		return
	}
	switch p.rng.IntN(3) {
	case 0:
		for range 1 + p.rng.IntN(3) {
			p.line("at %v do %d attach %d", p.at, client, 1+p.rng.IntN(p.servers))
		}
	case 1:
		p.line("at %v do %d traffic on", p.at, client)
	}
}

// leaveAndReturn ends a client without a word, and its node with it or a little later.
func (p *plan) leaveAndReturn(client int, back time.Duration) {
	if p.rng.IntN(2) == 0 {
		p.line("at %v kill %d\nat %v restart %d", p.at, client, back, client)
		return
	}
	p.line("at %v do %d traffic on\nat %v do %d quit", p.at, client, p.at, client)
	if p.rng.IntN(2) == 0 { // otherwise it is gone for good, and its node talks on
		p.line("at %v kill %d\nat %v restart %d", back, client, back+time.Second, client)
		p.gone[client-p.servers-1] += time.Second
	} else {
		p.gone[client-p.servers-1] = time.Hour
	}
}

// settings moves the length of the run, which is known last, to the settings.
func settings(text string) string {
	head, tail, _ := strings.Cut(text, "\nrun ")
	length, tail, _ := strings.Cut(tail, "\n")
	first, rest, _ := strings.Cut(head, "\n")
	return first + "\nrun " + length + "\n" + rest + "\n" + tail
}

// mildFault is a fault of a server, or the restart of a client.
func (p *plan) mildFault() {
	if k := p.rng.IntN(planClients); p.rng.IntN(5) == 0 {
		if p.gone[k] <= p.at {
			p.gone[k] = p.at + p.between(time.Millisecond, 10*time.Second)
			p.leaveAndReturn(p.servers+k+1, p.gone[k])
		}
		return
	}
	down, k := 1, p.rng.IntN(p.servers)
	for _, until := range p.busy {
		if p.at <= until+10*time.Second {
			down++
		}
	}
	if p.at <= p.busy[k]+10*time.Second || p.at <= p.apart+10*time.Second || 2*down >= p.servers {
		return
	}
	keeping := " keeping state"
	if p.rng.IntN(4) == 0 {
		keeping = ""
	}
	switch p.rng.IntN(5) {
	case 4:
		p.busy[k] = p.at + p.between(time.Second, 30*time.Second)
		p.line("at %v do %d drain on\nat %v do %d drain off", p.at, k+1, p.busy[k], k+1)
	case 3: // within T_q and beyond
		p.busy[k] = p.at + p.between(time.Second, 40*time.Second)
		p.line("at %v cut %d -> 1-%d\nat %v cut 1-%d -> %d\nat %v heal", p.at, k+1, p.servers, p.at, p.servers, k+1, p.busy[k])
		p.apart = p.busy[k]
	case 0:
		p.busy[k] = p.at + p.between(60*time.Second, 90*time.Second)
		p.line("at %v kill %d\nat %v restart %d%s", p.at, k+1, p.busy[k], k+1, keeping)
	case 1:
		p.busy[k] = p.at + p.between(100*time.Millisecond, 10*time.Second)
		p.line("at %v kill %d\nat %v restart %d%s", p.at, k+1, p.busy[k], k+1, keeping)
	case 2:
		p.busy[k] = p.at + p.between(500*time.Millisecond, 40*time.Second)
		p.line("at %v pause %d for %v", p.at, k+1, p.busy[k]-p.at)
	}
}

// WildPlan draws a scenario of any faults of servers, clients and links, many at a
// time. When all have ended, and a while has passed, all is as it should be.
func WildPlan(seed uint64) string {
	var p plan
	p.begin(seed, fmt.Sprintf(" loss %d%%", seed%3*2))
	kinds := []string{"kill", "crash", "pause", "partition", "cut", "loss", "latency", "slow"}
	p.rng.Shuffle(len(kinds), func(i, j int) { kinds[i], kinds[j] = kinds[j], kinds[i] })
	kinds = kinds[:1+p.rng.IntN(5)]
	p.line("random faults %d from 22s to 150s of %s", 1+p.rng.IntN(min(3+len(kinds), 8)), strings.Join(kinds, " "))
	for p.at = 30 * time.Second; p.at < 150*time.Second; p.at += p.between(5*time.Second, 30*time.Second) {
		p.use()
	}
	p.at = 150 * time.Second
	if seed%3 > 0 {
		p.line("at 150s link all -> all loss 0%%")
	}
	return settings(p.end(240 * time.Second))
}

// RunPlan runs a plan at a level. The error, if it does not hold, says what does not and has
// the plan.
func RunPlan(ctx context.Context, level scenario.Level, text string, seed uint64) (*scenario.Result, error) {
	f, err := scenario.Parse("plan", []byte(text), []*scenario.Protocol{Protocol})
	if err != nil {
		return nil, fmt.Errorf("%w\n%s", err, text)
	}
	res, err := scenario.Run(ctx, f, scenario.Options{Seed: &seed, Level: level, SampleEvery: -1})
	if err != nil {
		return nil, fmt.Errorf("%w\n%s", err, text)
	}
	for _, o := range res.Expects {
		if !o.OK {
			return res, fmt.Errorf("healthsim: seed %d, %s: %s\n%s", seed, o.Text, o.Why, text)
		}
	}
	return res, nil
}

// Plans is what came of many mild plans.
type Plans struct {
	Runs    int
	Failed  int // something did not hold at the end
	False   int // evictions of clients without a cause
	Evicted int // clients that all evicted, for a cause or none
	Masters int // masters lost, so that it is seen that something happened
	First   error
}

// MildPlans runs so many mild plans, from a seed on (G-CH-3).
func MildPlans(ctx context.Context, from uint64, count int) (p Plans, err error) {
	for seed := from; seed < from+uint64(count); seed++ {
		res, err := RunPlan(ctx, scenario.Machines, MildPlan(seed), seed)
		if res == nil {
			return p, err
		}
		if p.Runs++; err != nil {
			if p.Failed++; p.First == nil {
				p.First = err
			}
		}
		for _, m := range res.Measures {
			switch m.Name {
			case "false evictions":
				p.False += int(m.Value)
			case "evictions by all":
				p.Evicted += int(m.Value)
			case "masters lost":
				p.Masters += int(m.Value)
			}
		}
	}
	return p, nil
}
