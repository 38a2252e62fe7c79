package main
import ("context";"fmt";"os";"time";"github.com/chromedp/chromedp")
func main(){
 opts := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.NoSandbox, chromedp.ExecPath("/usr/bin/chromium"))
 actx,c := chromedp.NewExecAllocator(context.Background(), opts...); defer c()
 ctx,c2 := chromedp.NewContext(actx); defer c2()
 ctx,c3 := context.WithTimeout(ctx, 90*time.Second); defer c3()
 shot := func(name string, w,h int64){   must(chromedp.Do(ctx, chromedp.EmulateViewport(w,h), chromedp.Sleep(400*time.Millisecond))); b, err := chromedp.Run(ctx, chromedp.FullScreenshot(90)); must(err); os.WriteFile("/tmp/try/"+name+".png", b, 0o644) }
 must(chromedp.Do(ctx, chromedp.EmulateViewport(360,740), chromedp.Navigate(os.Args[1]), chromedp.WaitVisible("form button")))
 shot("signin",360,740)
 must(chromedp.Do(ctx, chromedp.Click("form button"), chromedp.WaitVisible("#rows")))
 shot("inbox",360,740); shot("inbox-wide",1280,800)
 for _,p := range os.Args[2:] {
  must(chromedp.Do(ctx, chromedp.Navigate("http://localhost:8787"+p), chromedp.WaitReady("main"))); t, _ := chromedp.Run(ctx, chromedp.Title()); fmt.Println(p,t)
  n := "p"; for _,r := range p { if r=='/' {n+="_"} else {n+=string(r)} }
  shot(n,360,740) }
}
func must(err error){ if err!=nil { fmt.Println(err); os.Exit(1)} }
