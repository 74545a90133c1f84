# Reference values from R's own wilcox.test, psignrank and pwilcox.
# Rscript wilcox.R > wilcox.jsonl
set.seed(20240607)
num <- function(v) paste0("[", paste(trimws(formatC(v, digits = 17, format = "g")), collapse = ","), "]")
emit <- function(kind, base, other, h) {
  cat(sprintf('{"kind":"%s","base":%s,"other":%s,"estimate":%.17g,"lo":%.17g,"hi":%.17g,"confidence":%.17g,"p":%.17g}\n',
    kind, num(base), num(other), h$estimate, h$conf.int[1], h$conf.int[2], attr(h$conf.int, "conf.level"), h$p.value))
}
for (n in c(6, 7, 8, 10, 13, 20, 31, 49)) {
  b <- exp(rnorm(n, 0, 0.05)); o <- b * exp(rnorm(n, 0.02, 0.03))
  emit("blocked", b, o, wilcox.test(log(o) - log(b), conf.int = TRUE, exact = TRUE))
}
for (mn in list(c(4, 4), c(5, 9), c(8, 8), c(12, 20), c(30, 17), c(49, 49))) {
  b <- exp(rnorm(mn[1], 0, 0.05)); o <- exp(rnorm(mn[2], 0.03, 0.05))
  emit("unblocked", b, o, wilcox.test(log(o), log(b), conf.int = TRUE, exact = TRUE))
}
for (n in c(5, 6, 20, 50, 100)) {
  q <- unique(round(seq(0, n * (n + 1) / 4, length.out = 12)))
  cat(sprintf('{"kind":"psignrank","n":%d,"q":%s,"prob":%s}\n', n, num(q), num(psignrank(q, n))))
}
for (mn in list(c(3, 4), c(8, 15), c(50, 50))) {
  q <- unique(round(seq(0, mn[1] * mn[2] / 2, length.out = 12)))
  cat(sprintf('{"kind":"pwilcox","m":%d,"n":%d,"q":%s,"prob":%s}\n', mn[1], mn[2], num(q), num(pwilcox(q, mn[1], mn[2]))))
}
