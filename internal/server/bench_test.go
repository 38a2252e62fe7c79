package server

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"approvalbot/api"
)

const benchBody = `{"toolName":"read","params":{"path":"/workspace/notes.md","limit":200},"agentId":"main","sessionKey":"agent:main:1"}`

// BenchmarkCreateAllowed is a call that policy allows: judged, on record and
// durable before the answer. Compare it with BenchmarkEcho of the same run.
func BenchmarkCreateAllowed(b *testing.B) {
	d := newDesk(b, tempStore(b))
	flood(b, d.srv.Handler())
}

// BenchmarkEcho is what net/http and encoding/json take to read such a request
// and answer it.
func BenchmarkEcho(b *testing.B) {
	flood(b, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var in api.CreateRequest
		if json.NewDecoder(r.Body).Decode(&in) == nil {
			w.Header().Set("Content-Type", "application/json")
			_ = json.NewEncoder(w).Encode(in)
		}
	}))
}

// flood posts benchBody over 64 connections.
func flood(b *testing.B, h http.Handler) {
	s := httptest.NewServer(h)
	defer s.Close()
	transport := &http.Transport{MaxIdleConnsPerHost: 64}
	defer transport.CloseIdleConnections()
	client := &http.Client{Transport: transport}
	b.SetParallelism(32) // of two cores
	b.ReportAllocs()
	b.ResetTimer()
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			req, _ := http.NewRequest("POST", s.URL+"/v1/approvals", strings.NewReader(benchBody))
			req.Header.Set("Authorization", "Bearer "+secretOf("agent"))
			res, err := client.Do(req)
			if err != nil {
				b.Error(err)
				return
			}
			_, _ = io.Copy(io.Discard, res.Body)
			res.Body.Close()
			if res.StatusCode != http.StatusOK {
				b.Error(res.Status)
				return
			}
		}
	})
	b.StopTimer()
	require.Positive(b, b.N)
}

// BenchmarkDecode is the strict reading of one request.
func BenchmarkDecode(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		var in api.CreateRequest
		if err := Decode([]byte(benchBody), &in); err != nil {
			b.Fatal(err)
		}
	}
}
