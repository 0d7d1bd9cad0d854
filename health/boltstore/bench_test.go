package boltstore

import (
	"fmt"
	"os"
	"slices"
	"sync"
	"testing"
	"time"
)

// BenchmarkSave saves new connections, a thousand at a time. It reports the records per second,
// and the time from Save to the callback. Some runs add a delay to each commit, to simulate a
// slower disk.
func BenchmarkSave(b *testing.B) {
	for _, bench := range []struct {
		delay    time.Duration
		existing int
	}{{0, 0}, {0, 100_000}, {5 * time.Millisecond, 100_000}} {
		b.Run(fmt.Sprintf("delay=%v/existing=%d", bench.delay, bench.existing), func(b *testing.B) {
			s := open(b, dbPath(b))
			fill(b, s, bench.existing)
			s.cfg.CommitDelay = bench.delay
			commits := s.Stats().Commits
			b.ReportAllocs()
			b.ResetTimer()
			took := flood(b, s, bench.existing, b.N)
			b.StopTimer()
			slices.Sort(took)
			b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "records/s")
			b.ReportMetric(float64(took[len(took)*99/100])/1e6, "p99-ms")
			b.ReportMetric(float64(b.N)/float64(s.Stats().Commits-commits), "records/commit")
		})
	}
}

// BenchmarkSaveAgain saves connections that are in the store already, in random order, as
// happens when a master has died.
func BenchmarkSaveAgain(b *testing.B) {
	const existing = 100_000
	s := open(b, dbPath(b))
	fill(b, s, existing)
	b.ReportAllocs()
	b.ResetTimer()
	took := flood(b, s, -existing, b.N)
	b.StopTimer()
	slices.Sort(took)
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "records/s")
	b.ReportMetric(float64(took[len(took)*99/100])/1e6, "p99-ms")
}

func fill(b *testing.B, s *Store, n int) {
	var group sync.WaitGroup
	group.Add(n)
	for i := range n {
		s.Save(record(i, 1), func(err error) {
			if err != nil {
				b.Error(err)
			}
			group.Done()
		})
	}
	group.Wait()
}

// flood saves n records, at most a thousand at a time: of the clients from number first on, or,
// if first is negative, of clients below number -first in a mixed order.
func flood(b *testing.B, s *Store, first, n int) []time.Duration {
	const window = 1000
	took := make([]time.Duration, n)
	slots := make(chan struct{}, window)
	for i := range n {
		client := first + i
		if first < 0 {
			client = i * 7919 % -first
		}
		r := record(client, 2)
		slots <- struct{}{}
		began := time.Now()
		s.Save(r, func(err error) {
			if err != nil {
				b.Error(err)
			}
			took[i] = time.Since(began)
			<-slots
		})
	}
	for range window {
		slots <- struct{}{}
	}
	return took
}

// BenchmarkDisk measures the disk operations that a commit of some hundred records needs at
// least: write and sync 64 KiB, then one page. Save cannot be faster than that.
func BenchmarkDisk(b *testing.B) {
	f, err := os.Create(dbPath(b))
	if err != nil {
		b.Fatal(err)
	}
	defer f.Close()
	data := make([]byte, 64<<10)
	took := make([]time.Duration, b.N)
	b.ResetTimer()
	for i := range took {
		began := time.Now()
		for _, n := range []int{len(data), 4096} {
			if _, err := f.WriteAt(data[:n], int64(i%100*len(data))); err != nil {
				b.Fatal(err)
			}
			if err := f.Sync(); err != nil {
				b.Fatal(err)
			}
		}
		took[i] = time.Since(began)
	}
	b.StopTimer()
	slices.Sort(took)
	b.ReportMetric(float64(took[len(took)*99/100])/1e6, "p99-ms")
}
