# ウィキが読者に伝える文。

somebody = 誰か
a-page = ページ
your-page = あなたのページ
your-page-first = あなたのページ
quoted = ：「{ $text }」

people = { $others ->
    [0] { $who }
   *[other] { $who }ほか{ $shown }名
}

page-edited = { $who }が「{ $page }」を編集しました
pages-edited = { $people }が「{ $page }」を{ $shown }回編集しました
page-linked = { $who }が「{ $page }」にリンクしました
page-linked-from = { $who }が「{ $from }」から「{ $page }」にリンクしました
pages-linked = 「{ $page }」に{ $shown }ページからリンクがありました
mentioned = { $who }が「{ $page }」であなたに言及しました
mentions = { $people }が「{ $page }」であなたに{ $shown }回言及しました
reverted = { $who }が「{ $page }」のあなたの編集を取り消しました
reverts = { $people }が「{ $page }」のあなたの編集を{ $shown }件取り消しました
thanked = { $who }から「{ $page }」の編集へのお礼が届きました
thanks = { $people }から「{ $page }」の編集へのお礼が届きました
talk = { $who }があなたのトークページにメッセージを残しました
talks = { $people }があなたのトークページにメッセージを{ $shown }件残しました
welcome = ウィキへようこそ
welcome-name = { $name }さん、ウィキへようこそ

things = あなたのページに{ $count }件の新着
things-of-week = 今週、あなたのページに{ $count }件の新着
plan-single = すぐに
plan-daily = 毎日
plan-weekly = 毎週
plan-greeting = ごあいさつ
title-pages = あなたのページ
title-welcome = ようこそ
title-alerts = アラート
title-notices = お知らせ

maybe = 以前に送信された可能性があります
maybe-line = 以前に送信された可能性があります。
more = 次のメールであと{ $count }件お伝えします。
foot = このメールは、あなたのページやウォッチ中のページの動きをお知らせするものです。
less-of-this = これを減らす
instead = 代わりに「{ $title }」にする
settings = すべての設定
less = メールを停止する、または減らす
