package webcapture

import (
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"ulnet/lnd/lndtest/spec"
)

// try asks for the download with an Authorization header, from an address.
func (r *rig) try(from, authorization string) int {
	q := httptest.NewRequest(http.MethodGet, DownloadPath, http.NoBody)
	q.RemoteAddr = from
	if authorization != "" {
		q.Header.Set("Authorization", authorization)
	}
	return r.get(q).Code
}

// TestToken: a request passes only with the exact token in a header of exactly the expected form.
func TestToken(t *testing.T) {
	spec.Covers(t, "OP-70")
	bubble(t, func(t *testing.T, r *rig) {
		for i, wrong := range []string{
			"", "Bearer", "Bearer ", "Bearer x", token, "Basic " + token, "bearer " + token, "Bearer  " + token,
			"Bearer " + token[1:], "Bearer " + token + "x", "Bearer " + strings.ToUpper(token), "Bearer " + strings.Repeat("x", 8000),
		} {
			if status := r.try(fmt.Sprintf("10.0.0.%d:5", i), wrong); status != http.StatusUnauthorized {
				t.Errorf("%.60q: status %d", wrong, status)
			}
		}
		if status := r.try("10.0.0.1:5", "Bearer "+token); status != http.StatusNotFound {
			t.Errorf("the token: status %d", status)
		}
		if s := r.Status(); s.Wrong != 12 {
			t.Errorf("%+v", s)
		}
		if log := r.log.String(); strings.Count(log, "wrong token") != 1 || strings.Contains(log, token[1:10]) {
			t.Errorf("the log: %s", log)
		}
	})
}

// TestWrongTokens: each wrong token is counted, and few of them are logged. However many there are, from
// whatever address, a request with the right token passes.
func TestWrongTokens(t *testing.T) {
	spec.Covers(t, "OP-70")
	bubble(t, func(t *testing.T, r *rig) {
		const from = "10.0.0.1:5"
		for range 1000 {
			if status := r.try(from, "Bearer x"); status != http.StatusUnauthorized {
				t.Fatalf("a wrong token: status %d", status)
			}
		}
		if status := r.try(from, "Bearer "+token); status != http.StatusNotFound || r.Status().Wrong != 1000 {
			t.Errorf("the right one: status %d, %+v", status, r.Status())
		}
		time.Sleep(logInterval)
		r.try(from, "Bearer x")
		if log := r.log.String(); strings.Count(log, "wrong token") != 2 || !strings.Contains(log, "wrong=1001") {
			t.Errorf("the log: %s", log)
		}
	})
}

// TestUnreadToken: few of the requests that come while the token cannot be read are logged. Log lines about
// wrong tokens are bounded separately, so neither kind of line displaces the other.
func TestUnreadToken(t *testing.T) {
	spec.Covers(t, "OP-70")
	bubble(t, func(t *testing.T, r *rig) {
		read := r.cfg.Token
		r.try("10.0.0.1:5", "Bearer x")
		r.cfg.Token = func() ([]byte, error) { return nil, errors.New("/etc/secret is not there") }
		unread := func() int { return strings.Count(r.log.String(), "cannot be read") }
		for range 1000 {
			if status := r.try("10.0.0.1:5", ""); status != http.StatusServiceUnavailable {
				t.Fatalf("without a token: status %d", status)
			}
		}
		if n := unread(); n != 1 {
			t.Errorf("1000 requests at one instant: %d lines in the log", n)
		}
		time.Sleep(logInterval)
		r.try("10.0.0.1:5", "")
		r.cfg.Token = read
		r.try("10.0.0.1:5", "Bearer x")
		if n := unread(); n != 2 || strings.Count(r.log.String(), "wrong token") != 2 {
			t.Errorf("after %v the log: %d lines, %s", logInterval, n, r.log)
		}
	})
}

// TestNoToken: if no token is configured, every request is refused, with a text that says what to set. If the
// token cannot be read, requests are refused with the status 503. The reason is logged, and the client does
// not get it.
func TestNoToken(t *testing.T) {
	spec.Covers(t, "OP-70")
	bubble(t, func(t *testing.T, r *rig) {
		r.cfg.Token = func() ([]byte, error) { return nil, errors.New("/etc/secret is not there") }
		w := r.get(request(http.MethodGet, DownloadPath, ""))
		if w.Code != http.StatusServiceUnavailable || strings.Contains(w.Body.String(), "/etc") || !strings.Contains(r.log.String(), "/etc/secret is not there") {
			t.Errorf("status %d, %s", w.Code, w.Body)
		}
		r.cfg.Token = func() ([]byte, error) { return nil, nil }
		if status := r.try("10.0.0.1:5", "Bearer "); status != http.StatusUnauthorized {
			t.Errorf("the empty token: status %d", status)
		}
		r.cfg.Token = nil
		w = r.get(request(http.MethodGet, DownloadPath, ""))
		c := r.order(t.Context(), &browser{}, `{}`)
		synctest.Wait()
		if w.Code != http.StatusNotFound || !strings.Contains(w.Body.String(), "metrics_capture_token") || c.status != http.StatusNotFound || r.Status() != nil {
			t.Errorf("status %d and %d: %s", w.Code, c.status, w.Body)
		}
	})
}
