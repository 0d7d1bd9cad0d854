package portals

import (
	"errors"
	"math/rand/v2"
	"syscall"
	"testing"
	"unsafe"

	"ulnet/lnd/lndtest/spec"
	"ulnet/lnet"
	"ulnet/lnet/machine"
	"ulnet/lnet/nid"
)

// TestManyEntries attaches and unlinks thousands of MEs in random order, some with the same
// match bits, and finds all of them at every size of the table.
func TestManyEntries(t *testing.T) {
	for name, id := range map[string]nid.ProcessID{
		"unique":   {NID: nid.MustParse("10.0.0.2@tcp"), PID: nid.LustrePID},
		"wildcard": {},
	} {
		t.Run(name, func(t *testing.T) {
			table := New(lnet.New(lnet.Config{Incarnation: 7, Clock: machine.RealClock()}))
			p := &table.portals[0]
			r := rand.New(rand.NewPCG(3, 4))
			lists := make(map[uint64][]MEHandle) // by match bits: the entries in the order of the list
			const values, steps = 600, 6000
			for step := range steps {
				bits := r.Uint64N(values)
				list := lists[bits]
				switch n := len(list); {
				case n > 0 && r.IntN(3) == 0 || step > steps*2/3:
					if n == 0 {
						continue
					}
					i := r.IntN(n)
					if err := table.MEUnlink(list[i]); err != nil {
						t.Fatal(err)
					}
					lists[bits] = append(list[:i:i], list[i+1:]...)
				default:
					h, err := table.MEAttach(0, Match{ID: id, Bits: bits}, Unlink, After)
					if err != nil {
						t.Fatal(err)
					}
					lists[bits] = append(list, h)
				}
				if step%100 == 0 {
					checkLists(t, p, id, lists)
				}
			}
			checkLists(t, p, id, lists)
			if n := p.exact.rings; n > len(p.exact.buckets) {
				t.Errorf("%d rings in %d buckets", n, len(p.exact.buckets))
			}
		})
	}
}

// checkLists compares the rings of a portal with lists of handles.
func checkLists(t *testing.T, p *portal, id nid.ProcessID, lists map[uint64][]MEHandle) {
	t.Helper()
	for bits, want := range lists {
		head := p.find(bits, id)
		ref := head
		for _, h := range want {
			if ref == 0 || p.handle(0, ref) != h {
				t.Fatalf("bits %d: found entry %d, want %x", bits, ref, h)
			}
			ref = p.me(ref).next
		}
		if ref != head || len(want) == 0 && head != 0 {
			t.Fatalf("bits %d: more than %d entries", bits, len(want))
		}
	}
}

// TestCacheLines: an ME has the size of one cache line, an MD that of three, of which matching
// needs only the first.
func TestCacheLines(t *testing.T) {
	const line = 64
	if n := unsafe.Sizeof(me{}); n != line {
		t.Errorf("an ME has %d bytes, want %d", n, line)
	}
	if n := unsafe.Sizeof(md{}); n != 3*line {
		t.Errorf("an MD has %d bytes, want %d", n, 3*line)
	}
	if n := unsafe.Offsetof(md{}.generation); n > line {
		t.Errorf("what matching needs of an MD has %d bytes, want at most %d", n, line)
	}
}

// TestNoMoreHandles: calls that find no free slot are refused, and leave nothing behind.
func TestNoMoreHandles(t *testing.T) {
	table := New(lnet.New(lnet.Config{Incarnation: 7, Clock: machine.RealClock()}))
	q, err := table.NewEQ(1)
	if err != nil {
		t.Fatal(err)
	}
	me, err := table.MEAttach(0, Match{}, Retain, After)
	if err != nil {
		t.Fatal(err)
	}
	table.mds.used, table.portals[0].mes.used, table.portals[1].mes.used = maxSlots, maxSlots, maxSlots
	_, attachME := table.MEAttach(1, Match{}, Retain, After)
	_, insertME := table.MEInsert(me, Match{}, Retain, After)
	_, attachMD := table.MDAttach(me, MD{Options: OpPut, EQ: q}, Retain)
	_, bindMD := table.MDBind(MD{EQ: q}, Retain)
	for call, err := range map[string]error{
		"LNetMEAttach": attachME, "LNetMEInsert": insertME, "LNetMDAttach": attachMD, "LNetMDBind": bindMD,
	} {
		if !errors.Is(err, syscall.ENOMEM) {
			t.Errorf("%s: %v", call, err)
		}
	}
	if err := q.Free(); err != nil {
		t.Errorf("the queue that no MD names: %v", err)
	}
	table.mds.used = 0
	if _, err := table.MDAttach(me, MD{Options: OpPut}, Retain); err != nil {
		t.Errorf("the ME that has no MD: %v", err)
	}
}

// TestPutBatchNoMoreHandles (PT-38): if there are not enough handles for all PUTs of a batch, PutBatch
// fails and gives back the handles that it got.
func TestPutBatchNoMoreHandles(t *testing.T) {
	spec.Covers(t, "PT-38")
	table := New(lnet.New(lnet.Config{Incarnation: 7, Clock: machine.RealClock()}))
	md, err := table.MDBind(MD{Threshold: 2}, Retain)
	if err != nil {
		t.Fatal(err)
	}
	to := nid.ProcessID{NID: nid.MustParse("10.0.0.2@tcp"), PID: nid.LustrePID}
	puts := []PutRequest{{Target: to, Ack: true, OpPtr: 1}, {Target: to, Ack: true, OpPtr: 2}}
	slot, _ := table.calls.take()
	table.calls.put(slot, 0)
	table.calls.used = maxSlots // the slot that was taken and put back is the only free one
	if err := table.PutBatch(PutBatchRequest{MD: md, Puts: puts}); !errors.Is(err, syscall.ENOMEM) {
		t.Errorf("error %v", err)
	}
	d := table.mds.at(cookieSlot(uint64(md)))
	if len(table.calls.free) != 1 || d.threshold != 2 || d.refs != 0 || d.asked.calls != nil {
		t.Errorf("free handles %v, threshold %d, %d references", table.calls.free, d.threshold, d.refs)
	}
}
