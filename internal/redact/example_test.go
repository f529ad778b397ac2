package redact_test

import (
	"fmt"
	"io"
	"os"

	"github.com/errand-acp/errand/internal/redact"
)

func Example() {
	r := redact.New([]string{"hunter2hunter2"})
	fmt.Println(r.String(`{"error":"hunter2hunter2 is wrong"}`))

	w := r.Writer(os.Stdout)
	io.WriteString(w, "stderr in pieces: hunter2")
	io.WriteString(w, "hunter2\n")
	w.Close()
	// Output:
	// {"error":"[redacted] is wrong"}
	// stderr in pieces: [redacted]
}
