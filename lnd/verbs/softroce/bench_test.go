package softroce

import (
	"net/netip"
	"testing"
	"time"

	"ulnet/lnd/verbs"
	"ulnet/lnet/machine"
)

// pinger is an end of a connection that answers each message with another.
type pinger struct {
	conn verbs.Conn
	pool verbs.Pool
	pd   verbs.PD
	wr   []verbs.SendWR
	left int
	done chan struct{}
}

func (p *pinger) completed(batch []verbs.Completion) {
	for i := range batch {
		if batch[i].Op != verbs.Receive {
			continue
		}
		p.pool.Return(batch[i].Buffer)
		if p.left--; p.left == 0 {
			p.done <- struct{}{}
		} else if err := p.conn.PostSend(p.wr); err != nil {
			panic(err)
		}
	}
}

// pingers returns two connected pingers over sockets of the operating system. The caller has to set
// wr, the work requests with which a pinger answers.
func pingers(tb testing.TB) [2]*pinger {
	var ends [2]*pinger
	var devices [2]verbs.Device
	var config [2]verbs.ConnConfig
	for i := range ends {
		p := &pinger{done: make(chan struct{}, 1), left: -1}
		ends[i] = p
		var err error
		if devices[i], err = Open(verbs.OpenConfig{Addr: loopbackAddr(), Clock: machine.RealClock(), ReceiveBuffer: 4 << 20}); err != nil {
			tb.Fatal(err)
		}
		tb.Cleanup(func() { _ = devices[i].Close() })
		p.pd, _ = devices[i].NewPD()
		if p.pool, err = p.pd.NewPool(verbs.PoolConfig{Buffers: 64, Size: 4096}); err != nil {
			tb.Fatal(err)
		}
		cq, err := devices[i].NewCQ(64, p.completed)
		if err != nil {
			tb.Fatal(err)
		}
		config[i] = verbs.ConnConfig{QP: verbs.QPConfig{PD: p.pd, Sends: cq, Recvs: cq, Pool: p.pool, MaxSends: 32}, RetryCount: 5, RNRRetryCount: 6}
	}
	events := make(chan verbs.Event, 10)
	event := func(_ verbs.Conn, e verbs.Event) { events <- e }
	accepted := make(chan verbs.Conn, 1)
	if _, err := devices[1].Listen(987, func(r verbs.Request) {
		c, err := r.Accept(config[1], event)
		if err != nil {
			tb.Error(err)
		}
		accepted <- c
	}); err != nil {
		tb.Fatal(err)
	}
	var err error
	if ends[0].conn, err = devices[0].Connect(addrPort(devices[1]), config[0], event); err != nil {
		tb.Fatal(err)
	}
	take(tb, events)
	take(tb, events)
	ends[1].conn = take(tb, accepted)
	return ends
}

// ping sends n messages back and forth.
func ping(tb testing.TB, ends [2]*pinger, n int) {
	ends[0].left = n
	if err := ends[0].conn.PostSend(ends[0].wr); err != nil {
		tb.Fatal(err)
	}
	<-ends[0].done
}

// BenchmarkPing measures a message of 8 bytes back and forth.
func BenchmarkPing(b *testing.B) {
	ends := pingers(b)
	for _, p := range ends {
		p.wr = []verbs.SendWR{{Op: verbs.Send, Pieces: []verbs.SGE{{Bytes: make([]byte, 8)}}}}
	}
	b.ReportAllocs()
	b.ResetTimer()
	ping(b, ends, b.N)
}

// BenchmarkWrite measures an RDMA WRITE of a megabyte, a message after it, and a message
// back.
func BenchmarkWrite(b *testing.B) {
	const size = 1 << 20
	ends := pingers(b)
	source, err := ends[0].pd.Register([][]byte{make([]byte, size)}, 0)
	if err != nil {
		b.Fatal(err)
	}
	target, err := ends[1].pd.Register([][]byte{make([]byte, size)}, both)
	if err != nil {
		b.Fatal(err)
	}
	tell := verbs.SendWR{Op: verbs.Send, Pieces: []verbs.SGE{{Bytes: make([]byte, 8)}}}
	ends[0].wr = []verbs.SendWR{{
		Op: verbs.Write, Remote: target.Frags(nil)[0], RKey: target.RKey(), Pieces: []verbs.SGE{{Bytes: source.(*region).pieces[0], MR: source}},
	}, tell}
	ends[1].wr = []verbs.SendWR{tell}
	b.SetBytes(size)
	b.ReportAllocs()
	b.ResetTimer()
	ping(b, ends, b.N)
}

// pair returns two pingers that are connected in virtual time.
func (v *virtual) pair(tap func(verbs.TappedPacket), change func(*verbs.ConnConfig)) (ends [2]*pinger, events *[]verbs.Event) {
	events = new([]verbs.Event)
	event := func(_ verbs.Conn, e verbs.Event) { *events = append(*events, e) }
	var devices [2]verbs.Device
	var configs [2]verbs.ConnConfig
	for i, a := range []string{"10.0.0.1", "10.0.0.2"} {
		p := &pinger{left: -1, done: make(chan struct{}, 1)}
		ends[i] = p
		var err error
		if devices[i], err = v.open(verbs.OpenConfig{Addr: netip.MustParseAddr(a), Clock: v.clock, Tap: tap, MTU: 1024}); err != nil {
			v.t.Fatal(err)
		}
		v.t.Cleanup(func() { _ = devices[i].Close() })
		p.pd, _ = devices[i].NewPD()
		p.pool, _ = p.pd.NewPool(verbs.PoolConfig{Buffers: 64, Size: 4096})
		cq, err := devices[i].NewCQ(64, p.completed)
		if err != nil {
			v.t.Fatal(err)
		}
		configs[i] = verbs.ConnConfig{QP: verbs.QPConfig{PD: p.pd, Sends: cq, Recvs: cq, Pool: p.pool, MaxSends: 32}, RetryCount: 5, RNRRetryCount: 6}
		if change != nil {
			change(&configs[i])
		}
	}
	if _, err := devices[1].Listen(987, func(r verbs.Request) {
		var err error
		if ends[1].conn, err = r.Accept(configs[1], event); err != nil {
			v.t.Error(err)
		}
	}); err != nil {
		v.t.Fatal(err)
	}
	var err error
	if ends[0].conn, err = devices[0].Connect(addrPort(devices[1]), configs[0], event); err != nil {
		v.t.Fatal(err)
	}
	v.clock.Run(v.clock.Now() + time.Second)
	if len(*events) != 2 {
		v.t.Fatalf("%+v", *events)
	}
	return ends, events
}
