package page

import (
	"context"
	"encoding/json"
	"net/http"
	"runtime"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"ulnet/lnd/lndtest/effort"
	"ulnet/lnd/lndtest/spec"
)

// TestReadOnce: the state is read once a second for all browsers together, even in a flood of
// requests, and not at all while no browser asks.
func TestReadOnce(t *testing.T) {
	spec.Covers(t, "OP-62")
	synctest.Test(t, func(t *testing.T) {
		var from source
		p := New(from.read, Interval)
		time.Sleep(time.Hour)
		if read := from.count(); read != 0 {
			t.Errorf("the state was read %d times for no browser", read)
		}
		for range 1000 {
			if w := get(t, p, "/state"); w.Code != http.StatusOK || !json.Valid(w.Body.Bytes()) || !strings.Contains(w.Body.String(), `"time_ms":1,`) {
				t.Fatalf("status %d: %s", w.Code, w.Body)
			}
		}
		if read := from.count(); read != 1 {
			t.Errorf("1000 requests at one instant read the state %d times", read)
		}
		ctx, cancel := context.WithCancel(t.Context())
		var all [MaxStreams]browser
		for i := range all {
			follow(ctx, p, &all[i], func() {})
			time.Sleep(Interval / MaxStreams)
		}
		time.Sleep(100 * Interval)
		if read := from.count(); read < 100 || read > 104 {
			t.Errorf("%d streams read the state %d times in 101 s", len(all), read)
		}
		cancel()
		synctest.Wait()
		last := from.count()
		time.Sleep(time.Hour)
		if read := from.count(); read != last {
			t.Errorf("the state was read %d times after the last stream", read-last)
		}
	})
}

// TestOnlyWhatChanges: the first message has all sections, and the next ones have those that have
// changed, once a second; without a change there is a comment.
func TestOnlyWhatChanges(t *testing.T) {
	spec.Covers(t, "OP-63")
	synctest.Test(t, func(t *testing.T) {
		state := source{state: State{NIs: []NI{{Interface: "eth0"}}}, timeless: true}
		p := New(state.read, Interval)
		defer p.Close()
		var b browser
		follow(t.Context(), p, &b, func() {})
		expect := func(want string, messages int) {
			t.Helper()
			synctest.Wait()
			if got, n := b.last(); got != want || n != messages {
				t.Errorf("message %d: %s; want %d: %s", n, got, messages, want)
			}
		}
		synctest.Wait()
		text, _ := b.last()
		var whole map[string]any
		if err := json.Unmarshal([]byte(strings.TrimPrefix(text, "data: ")), &whole); err != nil || len(whole) != 13 {
			t.Errorf("the first message has %d sections, %v: %s", len(whole), err, text)
		}
		if b.header.Get("Content-Type") != "text/event-stream" {
			t.Errorf("headers %v", b.header)
		}
		time.Sleep(Interval)
		expect(":", 2)
		state.change(func() {
			state.state.Multicast = []Group{{Name: "g\n\ndata: {}"}}
			state.state.Routes.Total = 3
		})
		time.Sleep(Interval)
		expect(`data: {"routes":{"total":3,"down":0,"list":null},"multicast":[{"name":"g\n\ndata: {}","state":"","members":0,"in_flight":0,"waits":0}]}`, 3)
		time.Sleep(Interval)
		expect(":", 4)
	})
}

// TestSlowBrowser: a browser that does not read is disconnected, and its stream is free again. Above
// the bound a stream is refused; the browsers that read go on.
func TestSlowBrowser(t *testing.T) {
	spec.Covers(t, "OP-63")
	synctest.Test(t, func(t *testing.T) {
		var from source
		p := New(from.read, Interval)
		defer p.Close()
		var good browser
		follow(t.Context(), p, &good, func() {})
		var ended atomic.Int64
		for range MaxStreams - 1 {
			follow(t.Context(), p, &browser{deaf: true}, func() { ended.Add(1) })
			synctest.Wait()
		}
		if w := get(t, p, "/events"); w.Code != http.StatusServiceUnavailable || w.Header().Get("Retry-After") == "" {
			t.Errorf("one more stream: status %d, %v", w.Code, w.Header())
		}
		time.Sleep(10*time.Second + time.Millisecond)
		synctest.Wait()
		if _, messages := good.last(); ended.Load() != MaxStreams-1 || messages != 11 {
			t.Errorf("%d streams have ended, the other got %d messages", ended.Load(), messages)
		}
		for range MaxStreams - 1 {
			var b browser
			follow(t.Context(), p, &b, func() {})
			synctest.Wait()
			if _, messages := b.last(); messages != 1 {
				t.Error("a new browser gets no message")
			}
		}
	})
}

// TestStuck: while the node does not answer, requests get 503 within seconds, streams stay, and one
// goroutine waits for the node, however many ask. When the node answers again, all goes on.
func TestStuck(t *testing.T) {
	spec.Covers(t, "OP-63")
	synctest.Test(t, func(t *testing.T) {
		var from source
		p := New(from.read, Interval)
		defer p.Close()
		var b browser
		follow(t.Context(), p, &b, func() {})
		synctest.Wait()
		stuck := make(chan bool)
		from.change(func() { from.stuck = stuck })
		time.Sleep(Interval)
		began, answers := time.Now(), make(chan int, 100)
		for range cap(answers) {
			go func() { answers <- get(t, p, "/state").Code }()
		}
		for range cap(answers) {
			if status := <-answers; status != http.StatusServiceUnavailable {
				t.Errorf("status %d", status)
			}
		}
		if waited := time.Since(began); waited > readLimit || from.count() != 2 {
			t.Errorf("answers after %v, the state was read %d times", waited, from.count())
		}
		time.Sleep(time.Minute)
		if text, messages := b.last(); text != ":" || messages < 15 || from.count() != 2 {
			t.Errorf("%d messages, the last is %q; the state was read %d times", messages, text, from.count())
		}
		close(stuck)
		time.Sleep(10 * time.Second)
		if text, _ := b.last(); !strings.HasPrefix(text, "data: {") {
			t.Errorf("later: %q", text)
		}
	})
}

// TestClose: Close ends all streams. A stream that begins after Close ends after its first message.
func TestClose(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, ended := New(func() *State { return &State{} }, Interval), atomic.Int64{}
		for range MaxStreams {
			follow(t.Context(), p, new(browser), func() { ended.Add(1) })
		}
		synctest.Wait()
		p.Close()
		p.Close()
		synctest.Wait()
		follow(t.Context(), p, new(browser), func() { ended.Add(1) })
		synctest.Wait()
		if n := ended.Load(); n != MaxStreams+1 {
			t.Errorf("%d streams have ended", n)
		}
	})
}

// TestOpenForDays: neither memory nor messages grow while a page is open and all of it changes.
func TestOpenForDays(t *testing.T) {
	spec.Covers(t, "OP-63")
	hours := effort.Of(1, 1, 72)
	synctest.Test(t, func(t *testing.T) {
		var recent Recent
		n := 0
		p := New(func() *State {
			n++
			recent.Tell("gossip.died", nil)
			return &State{Now: Now{TimeMS: int64(n)}, Routes: Routes{List: []Route{{Net: strconv.Itoa(n)}}}, Events: recent.list()}
		}, Interval)
		defer p.Close()
		var b browser
		follow(t.Context(), p, &b, func() {})
		use := func(d time.Duration) (heap uint64, size int) {
			time.Sleep(d)
			synctest.Wait()
			runtime.GC()
			var m runtime.MemStats
			runtime.ReadMemStats(&m)
			text, _ := b.last()
			return m.HeapAlloc, len(text)
		}
		heap, size := use(10 * time.Minute)
		laterHeap, laterSize := use(time.Duration(hours) * time.Hour)
		if laterHeap > heap+1<<20 || laterSize > size+100 {
			t.Errorf("%d bytes of memory and messages of %d bytes, after %d h %d and %d", heap, size, hours, laterHeap, laterSize)
		}
		if _, messages := b.last(); messages < hours*3600 {
			t.Errorf("%d messages in %d h", messages, hours)
		}
	})
}
