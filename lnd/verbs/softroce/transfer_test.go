package softroce

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"net/netip"
	"os"
	"runtime"
	"testing"
	"time"

	"ulnet/lnd/lndtest/effort"
	"ulnet/lnd/verbs"
	"ulnet/lnd/verbs/ibta"
	"ulnet/lnd/verbs/softroce/emulator"
)

// seededNumbers are the same in all runs with one seed.
type seededNumbers struct{ *rand.Rand }

func (n seededNumbers) GUID() ibta.GUID       { return ibta.GUID(n.Uint64()) }
func (n seededNumbers) CommID() ibta.CommID   { return ibta.CommID(n.Uint32()) }
func (n seededNumbers) QPN() ibta.QPN         { return ibta.QPN(n.Uint32() & psnMask) }
func (n seededNumbers) PSN() ibta.PSN         { return ibta.PSN(n.Uint32() & psnMask) }
func (n seededNumbers) RKey() ibta.RKey       { return ibta.RKey(n.Uint32()) }
func (n seededNumbers) Address(uint64) uint64 { return n.Uint64() >> 17 << 12 }

// uncutSeed is the seed of a wire that refuses bursts.
const uncutSeed = 4

// virtual is some devices on an emulated network.
type virtual struct {
	t     testing.TB
	clock *emulator.Clock
	net   *emulator.Network
	open  verbs.Opener
}

func newVirtual(t testing.TB, seed uint64, f emulator.Faults) *virtual {
	v := &virtual{t: t, clock: emulator.NewClock()}
	v.net = emulator.New(emulator.Config{Clock: v.clock, Seed: seed, Faults: f, Uncut: seed == uncutSeed})
	v.open = NewOpener(Options{Network: v.net, Numbers: seededNumbers{rand.New(rand.NewPCG(seed, 7))}})
	return v
}

// mover is a node that moves data: it writes blocks into slots of its peer's memory and sends
// a message about each, which the peer checks and answers.
type mover struct {
	v      *virtual
	device verbs.Device
	pd     verbs.PD
	cq     verbs.CQ
	pool   verbs.Pool
	conn   verbs.Conn
	memory []byte
	region verbs.MR
	peer   *mover

	rng    *rand.Rand
	left   int // bytes that are still to be moved
	moved  int
	next   uint64
	source map[uint64]verbs.MR // by ID of a block that is being written: the region that it is sent from
	digest uint64
	over   verbs.Event
}

const (
	slots    = 4
	slotSize = 1 << 20
)

func (v *virtual) newMover(addr string, seed uint64) *mover {
	m := &mover{v: v, rng: rand.New(rand.NewPCG(seed, 3)), source: make(map[uint64]verbs.MR), memory: make([]byte, slots*slotSize)}
	var err error
	fail := func(err error) {
		if err != nil {
			v.t.Fatal(err)
		}
	}
	m.device, err = v.open(verbs.OpenConfig{Addr: netip.MustParseAddr(addr), Clock: v.clock})
	fail(err)
	m.pd, err = m.device.NewPD()
	fail(err)
	m.pool, err = m.pd.NewPool(verbs.PoolConfig{Buffers: 8, Size: 4096})
	fail(err)
	m.cq, err = m.device.NewCQ(64, m.completed)
	fail(err)
	m.region, err = m.pd.Register([][]byte{m.memory[:12345], m.memory[12345:]}, both)
	fail(err)
	return m
}

func (m *mover) config() verbs.ConnConfig {
	return verbs.ConnConfig{
		QP:         verbs.QPConfig{PD: m.pd, Sends: m.cq, Recvs: m.cq, Pool: m.pool, MaxSends: 64},
		RetryCount: 5, RNRRetryCount: 6,
	}
}

// block returns the n bytes of block id.
func block(sender, id uint64, n int) []byte {
	b := make([]byte, n)
	for at := 0; at < n; at += 8 {
		var w [8]byte
		binary.LittleEndian.PutUint64(w[:], (sender<<40^id<<20^uint64(at))*0x9E3779B97F4A7C15)
		copy(b[at:], w[:])
	}
	return b
}

// start writes a block into each slot.
func (m *mover) start() {
	for range slots {
		m.move()
	}
}

// move writes the next block into its slot, and sends a message about it.
func (m *mover) move() {
	if m.left <= 0 {
		return
	}
	id := m.next
	m.next++
	n := m.rng.IntN(slotSize)
	if m.rng.IntN(4) == 0 {
		n = m.rng.IntN(5000)
	}
	m.left -= n
	b := block(m.sender(), id, n)
	at := id % slots * slotSize
	say := make([]byte, 20, 4096)
	binary.LittleEndian.PutUint64(say, id)
	binary.LittleEndian.PutUint64(say[8:], uint64(n))
	say = say[:20+m.rng.IntN(4000)]
	to := m.peer.region.Frags(nil)[0]
	list := []verbs.SendWR{
		{ID: id, Op: verbs.Write, RKey: m.peer.region.RKey(), Remote: verbs.Frag{Address: to.Address + at, Length: uint32(n)}},
		{ID: id, Op: verbs.Send, Signaled: true, Pieces: []verbs.SGE{{Bytes: say}}},
	}
	if n > 0 {
		source, err := m.pd.Register([][]byte{b}, 0)
		if err != nil {
			m.v.t.Fatal(err)
		}
		m.source[id] = source
		list[0].Pieces = []verbs.SGE{{Bytes: b[:n/3], MR: source}, {Bytes: b[n/3:], MR: source}}
	}
	if err := m.conn.PostSend(list); err != nil {
		m.v.t.Fatal(err)
	}
	m.moved += n
}

func (m *mover) sender() uint64 { return uint64(m.device.Attr().Addr.As4()[3]) }

// completed takes completions as the upcall of the queue.
func (m *mover) completed(batch []verbs.Completion) {
	for i := range batch {
		c := &batch[i]
		h := fnv.New64a()
		fmt.Fprint(h, m.digest, m.v.clock.Now(), c.ID, c.Op, c.Status, len(c.Buffer.Bytes))
		m.digest = h.Sum64()
		switch {
		case c.Status != verbs.Success:
			m.v.t.Errorf("%+v", c)
		case c.Op == verbs.Send && c.ID != answers:
			if source := m.source[c.ID]; source != nil {
				source.Deregister()
				delete(m.source, c.ID)
			}
		case c.Op == verbs.Receive:
			m.received(c.Buffer.Bytes)
			m.pool.Return(c.Buffer)
		}
	}
}

const answers = 1 << 60 // ID of every answer; the IDs of blocks are smaller

// received takes a message: a block that was written, or the answer to one.
func (m *mover) received(b []byte) {
	if len(b) == 1 {
		m.move()
		return
	}
	id, n := binary.LittleEndian.Uint64(b), int(binary.LittleEndian.Uint64(b[8:]))
	at := int(id%slots) * slotSize
	if !bytes.Equal(m.memory[at:at+n], block(m.peer.sender(), id, n)) {
		m.v.t.Fatalf("block %d of %d bytes has something else", id, n)
	}
	if err := m.conn.PostSend([]verbs.SendWR{{ID: answers, Op: verbs.Send, Pieces: []verbs.SGE{{Bytes: []byte{1}}}}}); err != nil {
		m.v.t.Fatal(err)
	}
}

// transfer moves total bytes in each direction. It returns how long that took and a digest of
// everything that was received.
func transfer(t testing.TB, seed uint64, f emulator.Faults, total int) (took time.Duration, digest uint64, s emulator.Stats) {
	v := newVirtual(t, seed, f)
	ends := [2]*mover{v.newMover("10.0.0.1", seed), v.newMover("10.0.0.2", seed+1)}
	ends[0].peer, ends[1].peer = ends[1], ends[0]
	established := 0
	event := func(i int) func(verbs.Conn, verbs.Event) {
		return func(c verbs.Conn, e verbs.Event) {
			if ends[i].over = e; e.Kind == verbs.Established {
				established++
			}
		}
	}
	_, err := ends[1].device.Listen(987, func(r verbs.Request) {
		c, err := r.Accept(ends[1].config(), event(1))
		if err != nil {
			t.Fatal(err)
		}
		ends[1].conn = c
	})
	if err != nil {
		t.Fatal(err)
	}
	if ends[0].conn, err = ends[0].device.Connect(netip.MustParseAddrPort("10.0.0.2:987"), ends[0].config(), event(0)); err != nil {
		t.Fatal(err)
	}
	for established < 2 && v.clock.Step(time.Hour) {
	}
	for _, m := range ends {
		m.left = total
		m.start()
	}
	for ends[0].left > 0 || ends[1].left > 0 || len(ends[0].source)+len(ends[1].source) > 0 {
		if !v.clock.Step(10*time.Hour) || t.Failed() {
			t.Fatalf("stuck at %v: %d and %d bytes left, %+v", v.clock.Now(), ends[0].left, ends[1].left, v.net.Stats())
		}
	}
	took = v.clock.Now()
	v.clock.Run(took + time.Second) // let the last answers arrive
	ends[0].conn.Disconnect()
	v.clock.Run(took + 10*time.Second)
	t.Logf("%+v", ends[0].device.(*device).hub.stats().Transport)
	if s := ends[0].device.(interface{ Stats() Stats }).Stats(); seed == uncutSeed && (s.Transport.Resent != 0 || s.BadICRC != 0 || s.Unsent != 0) {
		t.Errorf("%+v", s)
	}
	for i, m := range ends {
		if m.over.Kind != verbs.Disconnected || m.over.Status != verbs.Success {
			t.Errorf("end %d: %+v", i, m.over)
		}
		m.conn.Close()
		m.region.Deregister()
		if free := m.pool.Stats().Free; free != 8 {
			t.Errorf("end %d: %d buffers are free", i, free)
		}
		if err := m.pd.Close(); err != nil {
			t.Error(err)
		}
		if err := m.device.Close(); err != nil {
			t.Error(err)
		}
	}
	return took, ends[0].digest ^ ends[1].digest<<1, v.net.Stats()
}

// TestTransfer moves 100 MiB in each direction over a wire that loses, repeats and reorders packets,
// in virtual time, and checks every byte. With BENCH=long it moves 5 GiB in each direction.
func TestTransfer(t *testing.T) {
	total := 100 << 20
	switch {
	case os.Getenv("BENCH") == "long":
		total = 5 << 30
	case effort.Race:
		total = 4 << 20
	case testing.Short():
		total = 10 << 20
	}
	f := emulator.Faults{
		Delay: 20 * time.Microsecond, Jitter: 5 * time.Microsecond, Loss: 0.01, Duplicate: 0.01, Reorder: 0.01, Hold: 100 * time.Microsecond,
	}
	took, _, s := transfer(t, 1, f, total)
	t.Logf("%d MB each way in %v of virtual time; %+v", total>>20, took, s)
}

// TestTransferAgain moves some megabytes twice, over a wire that damages packets; both runs
// have the same result.
func TestTransferAgain(t *testing.T) {
	f := emulator.Faults{Delay: 20 * time.Microsecond, Jitter: 200 * time.Microsecond, Loss: 0.02, Duplicate: 0.02, Corrupt: 0.001}
	took, digest, s := transfer(t, 2, f, 4<<20)
	again, same, _ := transfer(t, 2, f, 4<<20)
	if took != again || digest != same {
		t.Errorf("two runs of one seed differ: %v and %v", took, again)
	}
	if s.Corrupted == 0 || s.Lost == 0 || s.Duplicated == 0 {
		t.Errorf("%+v", s)
	}
	t.Logf("took %v; %+v", took, s)
}

// TestTransferUncut makes the system refuse bursts: the device then sends datagrams one by
// one, and nothing is lost.
func TestTransferUncut(t *testing.T) {
	_, _, s := transfer(t, uncutSeed, emulator.Faults{Delay: 20 * time.Microsecond}, 4<<20)
	if s.Sent != s.Delivered {
		t.Errorf("%+v", s)
	}
	t.Logf("%+v", s)
}

// perfect is a network without faults.
var perfect emulator.Faults

// heapInUse returns how many bytes of objects can be reached.
func heapInUse() uint64 {
	var m runtime.MemStats
	runtime.GC()
	runtime.GC()
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}
