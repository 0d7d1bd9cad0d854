package webcapture

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/iotest"
	"testing/synctest"
	"time"

	"ulnet/lnd/lndtest/spec"
)

// bubble runs a test of a Capture in virtual time.
func bubble(t *testing.T, f func(t *testing.T, r *rig)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		f(t, r)
		if err := r.Close(t.Context()); err != nil {
			t.Error(err)
		}
		if n := r.viewers(); n != 0 {
			t.Errorf("%d views go on", n)
		}
	})
}

// TestCapture: the stream of a capture has its messages as lnetdump shows them, until its time is over.
// The download is a valid capture of all of them, and is forgotten after KeepTime.
func TestCapture(t *testing.T) {
	spec.Covers(t, "OP-71")
	bubble(t, func(t *testing.T, r *rig) {
		r.put("before")
		c := r.order(t.Context(), &browser{}, `{"seconds":5,"payload":true}`)
		synctest.Wait()
		if s := r.Status(); !s.Running || c.header.Get("Content-Type") != "text/event-stream" {
			t.Errorf("status %+v, %v", s, c.header)
		}
		r.put("first")
		r.put("second")
		time.Sleep(reportInterval)
		synctest.Wait()
		_, lines, over := c.now()
		want := Line{"00:00:00.000000", "10.0.0.1@tcp", "239.76.0.5@tcp", "PUT of 5 bytes to portal 63, match bits 0x7, by multicast"}
		if len(lines) != 2 || lines[0] != want || over {
			t.Errorf("%+v, over %v; want 2 of %+v", lines, over, want)
		}
		if n, _ := r.packets(); n != 2 {
			t.Errorf("so far %d packets", n)
		}
		time.Sleep(5 * time.Second)
		synctest.Wait()
		last, lines, over := c.now()
		n, text := r.packets()
		if !over || last.Ended != "its time is over" || last.Bytes != len(text) || last.Records != 2 || len(lines) != 2 || n != 2 || !bytes.Contains(text, []byte("second")) {
			t.Errorf("over %v, %+v, %d packets, %d bytes", over, last, n, len(text))
		}
		r.put("after")
		if s := r.Status(); s.Running || s.Bytes != len(text) || r.viewers() != 0 {
			t.Errorf("status %+v, %d views", s, r.viewers())
		}
		time.Sleep(KeepTime)
		synctest.Wait()
		if w := r.get(request(http.MethodGet, DownloadPath, "")); w.Code != http.StatusNotFound || r.Status().Bytes != 0 {
			t.Errorf("later: status %d, %+v", w.Code, r.Status())
		}
	})
}

// TestNoPayload: unless the order wants it, payload is zeros. The filter selects lines, not packets.
func TestNoPayload(t *testing.T) {
	spec.Covers(t, "OP-71")
	for body, want := range map[string]int{
		`{"nids":["10.0.0.1@tcp"],"types":["put"],"portals":[63]}`: 1, `{"nids":["10.0.0.2@tcp"]}`: 0, `{"types":["GET"]}`: 0, `{"portals":[1,2]}`: 0,
	} {
		bubble(t, func(t *testing.T, r *rig) {
			c := r.order(t.Context(), &browser{}, body)
			synctest.Wait()
			r.put("secret")
			time.Sleep((DefaultSeconds + 1) * time.Second)
			synctest.Wait()
			last, lines, over := c.now()
			n, text := r.packets()
			if !over || len(lines) != want || last.Records != uint64(want) || n != 1 || bytes.Contains(text, []byte("secret")) {
				t.Errorf("%s: over %v, %+v, %d packets: %q", body, over, lines, n, text)
			}
		})
	}
}

// TestBadOrders: an order that is not valid is refused, as is one while another capture runs.
func TestBadOrders(t *testing.T) {
	spec.Covers(t, "OP-71")
	bubble(t, func(t *testing.T, r *rig) {
		many := strings.Repeat("1,", maxWanted) + "1"
		for body, why := range map[string]string{
			``: "no JSON", `[]`: "no JSON", `{"second":1}`: "unknown field", `{} {}`: "behind the order", `{}x`: "behind the order",
			`{"seconds":601}`: "1 to 600", `{"seconds":-1}`: "1 to 600", `{"seconds":1e9}`: "no JSON", `{"mib":65}`: "1 to 64", `{"mib":-1}`: "1 to 64",
			`{"nids":["nonsense"]}`: "nid: ", `{"types":["<b>"]}`: "type: ", `{"portals":[-1]}`: "no JSON", `{"portals":[` + many + `]}`: "64 elements",
		} {
			c := r.order(t.Context(), &browser{}, body)
			synctest.Wait()
			if !c.over || c.status != http.StatusBadRequest || !strings.Contains(c.refusal, why) {
				t.Errorf("%.40s: status %d, %q, want %q", body, c.status, c.refusal, why)
			}
		}
		ctx, leave := context.WithCancel(t.Context())
		r.order(ctx, &browser{}, `{}`)
		synctest.Wait()
		for range 100 {
			r.order(t.Context(), &browser{}, `{}`)
		}
		second := r.order(t.Context(), &browser{}, `{}`)
		synctest.Wait()
		if second.status != http.StatusConflict || second.header.Get("Retry-After") == "" || r.viewers() != 1 {
			t.Errorf("a second capture: status %d, %d views", second.status, r.viewers())
		}
		leave()
	})
}

// TestFull: a capture ends before the first packet that would make it longer than its limit in bytes.
func TestFull(t *testing.T) {
	spec.Covers(t, "OP-71")
	bubble(t, func(t *testing.T, r *rig) {
		c := r.order(t.Context(), &browser{}, `{"seconds":600,"mib":1,"payload":true}`)
		payload := strings.Repeat("x", 60_000)
		for range 200 {
			r.put(payload)
			synctest.Wait()
		}
		last, lines, over := c.now()
		n, text := r.packets()
		if !over || last.Ended != "it has as many bytes as it may have" || n != (1<<20)/60_200 || len(lines) != n || len(text) > 1<<20 {
			t.Errorf("over %v, %q, %d packets, %d lines, %d bytes", over, last.Ended, n, len(lines), len(text))
		}
	})
}

// TestClientGoes: when the client of a capture goes away, the capture ends. It can then be downloaded, and another
// capture can begin.
func TestClientGoes(t *testing.T) {
	spec.Covers(t, "OP-71")
	bubble(t, func(t *testing.T, r *rig) {
		for range 10 {
			ctx, leave := context.WithCancel(t.Context())
			c := r.order(ctx, &browser{}, `{}`)
			synctest.Wait()
			r.put("x")
			synctest.Wait()
			leave()
			synctest.Wait()
			if n, _ := r.packets(); !c.over || r.viewers() != 0 || n != 1 {
				t.Fatalf("over %v, %d views, %d packets", c.over, r.viewers(), n)
			}
		}
	})
}

// TestStalled: the capture of a client that does not read ends after 10 s, and few lines wait for it.
func TestStalled(t *testing.T) {
	spec.Covers(t, "OP-71")
	bubble(t, func(t *testing.T, r *rig) {
		c := r.order(t.Context(), &browser{deaf: true}, `{"seconds":600}`)
		for range 10 * maxLines {
			r.put("x")
		}
		time.Sleep(9 * time.Second)
		synctest.Wait()
		if s := r.Status(); !s.Running {
			t.Error("the capture has ended early")
		}
		time.Sleep(2 * time.Second)
		synctest.Wait()
		if _, _, over := c.now(); !over || r.Status().Running || r.viewers() != 0 || !strings.Contains(r.log.String(), "does not read") {
			t.Errorf("over %v, %+v, %d views", over, r.Status(), r.viewers())
		}
	})
}

// TestManyLines: of more messages than a client can read, some are left out and counted.
func TestManyLines(t *testing.T) {
	spec.Covers(t, "OP-71")
	bubble(t, func(t *testing.T, r *rig) {
		c := r.order(t.Context(), &browser{}, `{"seconds":1}`)
		synctest.Wait()
		for range 3*maxLines + 1 {
			r.put("x")
		}
		time.Sleep(2 * time.Second)
		synctest.Wait()
		if last, lines, over := c.now(); !over || len(lines) != maxLines || c.missed != 2*maxLines+1 || last.Records != 3*maxLines+1 {
			t.Errorf("over %v, %d lines, %d left out, %d in all", over, len(lines), c.missed, last.Records)
		}
	})
}

// TestClose: the end of the daemon ends a capture, and no other begins.
func TestClose(t *testing.T) {
	spec.Covers(t, "OP-71")
	bubble(t, func(t *testing.T, r *rig) {
		c := r.order(t.Context(), &browser{}, `{}`)
		synctest.Wait()
		r.put("x")
		for range 2 {
			if err := r.Close(t.Context()); err != nil {
				t.Error(err)
			}
		}
		late := r.order(t.Context(), &browser{}, `{}`)
		synctest.Wait()
		if last, lines, over := c.now(); !over || last.Ended != "lnetd ends" || len(lines) != 1 || late.status != http.StatusConflict {
			t.Errorf("over %v, %+v, %d lines, later status %d", over, last, len(lines), late.status)
		}
		if w := r.get(request(http.MethodGet, DownloadPath, "")); w.Code != http.StatusNotFound {
			t.Errorf("download: status %d", w.Code)
		}
	})
}

// TestCloseDeaf: the daemon does not wait for a client that does not read, whether it is in the middle
// of a report or not.
func TestCloseDeaf(t *testing.T) {
	spec.Covers(t, "OP-71")
	for _, c := range []*browser{{deaf: true}, {}} {
		bubble(t, func(t *testing.T, r *rig) {
			r.order(t.Context(), c, `{"seconds":600}`)
			synctest.Wait()
			c.deaf = true
			r.put("x")
			before := time.Now()
			if err := r.Close(t.Context()); err != nil {
				t.Error(err)
			}
			if took := time.Since(before); took > 2*endTimeout { // an exact time, because the clock is virtual
				t.Errorf("the end took %s", took)
			}
		})
	}
}

// TestDropped: reports say how many packets the tap has left out.
func TestDropped(t *testing.T) {
	spec.Covers(t, "OP-71")
	bubble(t, func(t *testing.T, r *rig) {
		r.cfg.View = func(ctx context.Context, out io.Writer, _ bool) error {
			out.(interface{ Dropped(packets uint64) }).Dropped(3)
			<-ctx.Done()
			return nil
		}
		c := r.order(t.Context(), &browser{}, `{"seconds":1}`)
		time.Sleep(2 * time.Second)
		if last, _, over := c.now(); !over || last.Dropped != 3 {
			t.Errorf("over %v, %+v", over, last)
		}
	})
}

// TestSlowDecoder: bytes that the decoder has not read yet are kept, and can be read after the end
// of the capture.
func TestSlowDecoder(t *testing.T) {
	spec.Covers(t, "OP-71")
	k := newKeeper(1 << 20)
	block := []byte{1, 0, 0, 0, 12, 0, 0, 0, 12, 0, 0, 0}
	for range 3 {
		if n, err := k.Write(block); n != len(block) || err != nil {
			t.Fatal(n, err)
		}
	}
	k.finish()
	if text, err := io.ReadAll(iotest.OneByteReader(k)); err != nil || !bytes.Equal(text, bytes.Repeat(block, 3)) || k.len() != len(text) {
		t.Errorf("%x, %v, %d kept", text, err, k.len())
	}
	k = newKeeper(1 << 20)
	_, _ = k.Write(block)
	k.leave()
	if text, err := io.ReadAll(k); err != nil || len(text) > 0 {
		t.Errorf("after leave: %x, %v", text, err)
	}
}

// TestTapCloses: when the tap is closed, the capture ends.
func TestTapCloses(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		c := r.order(t.Context(), &browser{}, `{}`)
		synctest.Wait()
		if err := r.tap.Close(); err != nil {
			t.Error(err)
		}
		synctest.Wait()
		if last, _, over := c.now(); !over || last.Ended != "lnetd ends" {
			t.Errorf("over %v, %+v", over, last)
		}
		c = r.order(t.Context(), &browser{}, `{}`)
		synctest.Wait()
		if last, _, over := c.now(); !over || !strings.Contains(last.Ended, "capture is closed") {
			t.Errorf("later: over %v, %+v", over, last)
		}
	})
}

// TestDefect: a panic of a decoder ends the capture and not the daemon.
func TestDefect(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		ended := make(chan error)
		run := &run{Capture: r.Capture, kept: newKeeper(1 << 20), lines: newLines(nil, false)}
		go func() { ended <- run.capture(t.Context(), false) }()
		synctest.Wait()
		r.put("x") // decoding it panics, because the filter is nil
		synctest.Wait()
		r.put("x")
		if err := <-ended; err == nil || !strings.Contains(err.Error(), "a decoder has a defect: ") {
			t.Error(err)
		}
	})
}

// TestDownloads: one download goes on at a time. A client that does not read is disconnected.
func TestDownloads(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		if w := r.get(request(http.MethodGet, DownloadPath, "")); w.Code != http.StatusNotFound || !strings.Contains(w.Body.String(), "no capture") {
			t.Errorf("nothing captured: status %d, %s", w.Code, w.Body)
		}
		ctx, leave := context.WithCancel(t.Context())
		r.order(ctx, &browser{}, `{}`)
		synctest.Wait()
		r.put("x")
		leave()
		synctest.Wait()
		if w := r.get(request(http.MethodHead, DownloadPath, "")); w.Code != http.StatusOK || w.Body.Len() != 0 || w.Header().Get("Content-Disposition") != "attachment; filename=node.pcapng" {
			t.Errorf("HEAD: status %d, %d bytes, %v", w.Code, w.Body.Len(), w.Header())
		}
		deaf := &browser{deaf: true, header: http.Header{}}
		go r.Download().ServeHTTP(deaf, request(http.MethodGet, DownloadPath, ""))
		synctest.Wait()
		if w := r.get(request(http.MethodGet, DownloadPath, "")); w.Code != http.StatusServiceUnavailable || w.Header().Get("Retry-After") == "" {
			t.Errorf("a second download: status %d, %v", w.Code, w.Header())
		}
		time.Sleep(downloadTimeout + time.Second)
		if n, _ := r.packets(); n != 1 {
			t.Errorf("%d packets", n)
		}
	})
}

// TestFitting: blocks are kept whole, whatever their lengths claim.
func TestFitting(t *testing.T) {
	block := func(length, claimed int) string {
		b := make([]byte, length)
		copy(b[4:], []byte{byte(claimed), byte(claimed >> 8), byte(claimed >> 16), byte(claimed >> 24)})
		return string(b)
	}
	for _, c := range []struct {
		blocks string
		room   int
		want   int
	}{
		{"", 100, 0},
		{block(12, 12) + block(20, 20), 100, 32},
		{block(12, 12) + block(20, 20), 32, 32},
		{block(12, 12) + block(20, 20), 31, 12},
		{block(12, 12) + block(20, 20), -5, 0},
		{block(12, 0), 100, 0},
		{block(12, 11), 100, 0},
		{block(12, 13), 100, 0},
		{block(12, 1<<31-1), 100, 0},
		{block(12, -1), 100, 0},
		{block(12, 12) + "short", 100, 12},
	} {
		if got := fitting([]byte(c.blocks), c.room); got != c.want {
			t.Errorf("%q in %d: %d, want %d", c.blocks, c.room, got, c.want)
		}
	}
}

// TestShortened: texts from other nodes are cut to maxText characters.
func TestShortened(t *testing.T) {
	for text, want := range map[string]int{"x": 1, strings.Repeat("x", maxText): maxText, strings.Repeat("ä", 1000): maxText, strings.Repeat("\xff", 1000): maxText} {
		if got := shortened(text); len([]rune(got)) != want {
			t.Errorf("%s of %.20q", fmt.Sprint(len([]rune(got))), text)
		}
	}
}
