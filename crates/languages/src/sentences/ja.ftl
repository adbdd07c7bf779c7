# サービス自身が読者に伝える文。

## お知らせする理由
follows = { $names }をフォローしています
near = { $distance }の場所です
named = あなた宛てです
mutual = あなたと{ $names }
mutual-clause = あなたと{ $names }に関することです
listed = あなたへのおすすめ
listed-clause = あなたへのおすすめです
everyone = すべての方へのお知らせです
near-you = 近く
distance = 現在地から{ $km } km
distance-short = 現在地から1 km以内
unnamed = 名前のないもの
somebody = ほかの方
clauses-two = { $first }。{ $last }
clauses-middle = { $first }。{ $last }
clauses-last = { $first }。{ $last }

## 列挙、数、日付
more-names = ほか{ $count }
and-more = { $says }（ほか{ $count }件）
capped = { $most }+
moment = { $day } { $time }

## メールのリンク先のページ
page-title = { $sender }からのメール
no-more = メールを停止する
asks = { $sender }からのメールを停止しますか？
asks-lead = ボタンを押すと、{ $sender }からのメールがすべて停止します。まだ何も変更されていません。
asks-plan = 代わりに「{ $plan }」にしますか？
asks-plan-lead = ボタンを押すと、今後のお知らせはそのメールで届きます。まだ何も変更されていません。
plan-instead = 代わりに「{ $plan }」にする
asks-less = 「{ $name }」のお知らせを減らしますか？
asks-less-lead = ボタンを押すと、{ $sender }はメールでもほかの方法でもこれについてお知らせしなくなります。まだ何も変更されていません。
less-of-this = これを減らす
holds-plan = すでに「{ $plan }」になっています
nothing-changed = 何も変更されていません。
holds-less = 「{ $name }」のお知らせはすでに停止しています
holds-less-lead = 何も変更されていません。「取り消す」で元に戻せます。
outdated = このリンクは古くなっています
outdated-choices = 何も変更されていません。現在選べるのは次のとおりです。
outdated-stop = 何も変更されていません。{ $sender }からのメールは引き続きすべて停止できます。
changed = 完了しました：{ $plan }
changed-lead = 前回のメール以降のお知らせは、次のこのメールで届きます。
less = 完了しました：「{ $name }」を減らしました
less-lead = { $sender }はこれについてお知らせしなくなりました。「取り消す」で元に戻せます。
more = 「{ $name }」のお知らせを再開しました
more-lead = 今後の新しいお知らせは、メールで届きます。
on-again = { $sender }からのメールを再開しました
on-again-lead = 前回のメール以降のお知らせは、次のメールで届きます。
gone = 操作は必要ありません
gone-lead = { $sender }からのメールは届きません。保存されていたあなたの情報は削除されました。
off = 完了しました：{ $sender }からのメールを停止しました
off-lead = 間違えて押した場合は、ここで元に戻せます。
is-off = { $sender }からのメールは停止しています
is-off-lead = 再び受け取りたい場合は、このボタンを押してください。
send-again = メールを再開する
how-often = 頻度
on-now = 現在の設定
instead = これにする
no-more-of = お知らせを停止しているもの
take-back = 取り消す
take-back-of = 取り消す：{ $name }
none-at-all = すべて停止

## 届くのを待っているもののページ
rest-title = { $sender }からの未配信のお知らせ
rest-none = 未配信のお知らせはありません
rest-gone = { $sender }に保存されていたあなたの情報は削除されました。
rest-items = 次のメールで届くお知らせ
rest-items-lead = { $sender }が今お伝えできる内容です。メールを待つ必要はありません。
rest-more = このほかに{ $count }件あります。
rest-off = { $sender }からのメールは停止しています。
rest-empty = 持ち越された内容はすべて届いたか、すでに有効ではありません。新しいお知らせは次のメールで届きます。
rest-door = 受け取るメールを変更する

## すべての設定のページ
settings-title = { $sender }からのお知らせ
settings-lead = お知らせの内容と頻度を選んでください。保存するまで何も変わりません。
settings-saved = 保存しました
settings-saved-lead = これから有効です。
settings-tried = まだ保存されていません
settings-tried-lead = 先週は下のとおりになっていました。
settings-refused-lead = 下に直していただきたい項目があります。まだ何も変更されていません。
settings-door = すべての設定
settings-back = メールをすべて停止
settings-topics = お知らせの内容
settings-channels = 届け方
settings-always = 常に
settings-off = なし
settings-usual = 通常どおり
settings-usual-known = 通常どおり（{ $usual }）
settings-chosen = 上で選んだもの
settings-plan = { $channel }の頻度
settings-hour = この時刻に
settings-quiet-from = おやすみ開始
settings-quiet-until = おやすみ終了
settings-no-quiet = おやすみ時間なし
settings-quiet-half = 開始と終了の両方を選ぶか、どちらも「おやすみ時間なし」にしてください。
settings-quiet-equal = 開始と終了には別の時刻を選んでください。
settings-pause = 休止の終わり
settings-pause-over = この日付は過ぎています。もっと後の日付を選んでください。
settings-times = 時刻と言語
settings-language = 言語
settings-save = 保存
settings-try = 先週を表示
settings-again = 再び知らせる
settings-again-of = 再び知らせる：{ $name }
settings-subscriptions = 登録しているもの
settings-end = 登録を解除
settings-end-of = 登録を解除：{ $name }
settings-ended = 登録を解除しました：{ $name }
settings-not-shown = ここに表示していないもの：{ $count }件
settings-week = この選択での先週
settings-week-line = { $count ->
   *[other] { $count }通
}
settings-week-none = 何も届きませんでした。
channel-email = メール
channel-push = プッシュ通知
channel-feed = サイト上
cadence-at-once = すぐに
cadence-hourly = 一日に数回
cadence-daily = 毎日
cadence-weekly = 毎週
cadence-monthly = 毎月
cadence-other = ときどき
language-name = 日本語

## プッシュ通知で選べること
push-read = 既読にする
push-settings = 設定

## これらのページのエラー
error-incomplete = このリンクは不完全です。メールからもう一度開くか、全体をコピーしてください。
error-busy = 現在処理できません。少し待ってからもう一度お試しください。
error-old = このメールは古いため、この操作はできません。すでにほかの人の手に渡っている可能性があります。
error-old-rest = このメールは古いため、新しい内容を表示できません。すでにほかの人の手に渡っている可能性があります。
error-often = 操作の回数が多すぎます。1時間後にもう一度お試しください。
error-form = このフォームはこのページのものではありません。
error-long = このフォームは長すぎます。
error-missing = このアドレスにはページがありません。
error-use = このアドレスはこの方法では使えません。前のページに戻り、ページのボタンをお使いください。
error-again = 前のページに戻り、再読み込みしてもう一度お試しください。
title-missing = ページが見つかりません
title-refused = 許可されていません
title-busy = 現在利用できません
title-often = 回数が多すぎます
title-long = 長すぎます
title-bad = この要求は処理できません
title-use = ここではできません
title-failed = うまくいきませんでした
title-other = 問題が発生しました
