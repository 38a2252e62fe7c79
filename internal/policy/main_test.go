package policy

import (
	"flag"
	"os"
	"testing"
)

func TestMain(m *testing.M) {
	_ = flag.Set("test.parallel", "6") // those that run programs wait for them
	os.Exit(m.Run())
}
